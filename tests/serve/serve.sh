# shellcheck shell=bash
# serve.sh - for test scripts to source: starts servers on free ports of this machine, and asks them.
build=$(realpath "${BUILD:-build}")
foretell=$build/foretell
scratch=$(mktemp -d)
server=
url=
trap 'stop_server >/dev/null 2>&1; rm -rf "$scratch"' EXIT
unset FORETELL_PREDICTORS http_proxy HTTP_PROXY
sanitized=$(nm "$foretell" 2>/dev/null | grep -c -m1 -E '__[at]san_init')
unlimited= # sanitizers map terabytes
[ "$sanitized" = 0 ] || unlimited='--worker-memory 0'

# Starts a server; sets $server (its process) and $url.
start_server() { # options...
    : >"$scratch/log"
    # shellcheck disable=SC2086  # two words or none
    "$foretell" serve --listen 127.0.0.1:0 --log none $unlimited "$@" 2>"$scratch/log" &
    server=$!
    local i
    for ((i = 0; i < 600; i++)); do
        url=$(sed -n 's/^foretell: listening on \(https\{0,1\}:.*\)/\1/p' "$scratch/log")
        [ -z "$url" ] || return 0
        kill -0 "$server" 2>/dev/null || break
        sleep 0.05
    done
    cat "$scratch/log"
    return 1
}

stop_server() { # its exit status
    [ -n "$server" ] || return 0
    kill "$server" 2>/dev/null
    local status=0
    wait "$server" 2>/dev/null || status=$?
    server=
    return "$status"
}

# The body goes to standard output; the status to $scratch/status.
ask() { # path, options of curl...
    local path=$1
    shift
    curl -sS --max-time 60 -D "$scratch/headers" -w '%{http_code}' -o "$scratch/body" "$@" "$url$path" >"$scratch/status" || return 1
    cat "$scratch/body"
}

# Asks, and compares the status and a part of the body.
gets() { # status, part of the body, path, options of curl...
    local status=$1 part=$2
    shift 2
    ask "$@" >/dev/null || return 1
    [ "$(cat "$scratch/status")" = "$status" ] && { [ -z "$part" ] || grep -qF -- "$part" "$scratch/body"; } && return 0
    echo "status $(cat "$scratch/status") instead of $status, or no '$part':"
    head -c 2000 "$scratch/body"
    return 1
}

# The same for errors, which are problem documents.
fails() { # status, part of the body, path, options of curl...
    gets "$@" && grep -qi '^content-type: application/problem+json' "$scratch/headers" && grep -qF "\"status\": $1," "$scratch/body"
}

metric() { # name with labels
    ask /metrics | awk -v name="$1" '$1 == name { print $2 }'
}
