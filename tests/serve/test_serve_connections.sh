#!/bin/bash
# foretell serve with 10,000 connections that send nothing, or a byte: requests are answered, memory comes back, and what is above the limit
# is refused in words.
set -u
. tests/repo/tap.sh
. tests/serve/serve.sh
if [ "$sanitized" != 0 ]; then
    echo '1..0 # SKIP sanitizers are too slow for thousands of connections'
    exit 0
fi
idle=
trap 'close_idle; stop_server >/dev/null 2>&1; rm -rf "$scratch"' EXIT

# Opens connections in a process of its own, and waits until the server has them; every second one has sent a byte.
open_idle() { # count
    local i
    (
        trap - EXIT
        trap '' PIPE
        for ((i = 0; i < $1; i++)); do
            exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}" || exit 1
            [ $((i % 2)) = 0 ] || printf P >&"$fd"
        done
        exec sleep 60
    ) 2>"$scratch/idle.log" &
    idle=$!
    for ((i = 0; i < 300; i++)); do
        [ "$(metric foretell_http_connections)" -lt "$1" ] 2>/dev/null || return 0
        kill -0 "$idle" 2>/dev/null || break
        sleep 0.05
    done
    echo "connections: $(metric foretell_http_connections) instead of $1"
    tail -3 "$scratch/idle.log"
    return 1
}

close_idle() {
    [ -n "$idle" ] || return 0
    kill "$idle" 2>/dev/null
    wait "$idle" 2>/dev/null
    idle=
}

# Those of a client that asks are there for a moment, too.
come_down() { # metric, largest value
    local i
    for ((i = 0; i < 100; i++)); do
        [ "$(metric "$1" | cut -d. -f1)" -gt "$2" ] || return 0
        sleep 0.1
    done
    echo "$1 is $(metric "$1"), at most $2 is expected"
    return 1
}

# --- Thousands of them ---------------------------------------------------------------------------------------------------

# The server keeps a quarter of its descriptors for files, and the client has some of its own.
ulimit -Sn "$(ulimit -Hn)"
descriptors=$(ulimit -n)
count=10000 limited=
if [ "$descriptors" != unlimited ] && [ $((descriptors * 3 / 4 - 64)) -lt "$count" ]; then
    count=$((descriptors * 3 / 4 - 64))
    limited=" (10,000 need more descriptors than the $descriptors allowed here)"
fi

start_server --workers 1 --timeout 60 || exit 1
gets 200 '' '/v1/inspect' -d '{"model": "resnet50"}' >/dev/null # what is allocated once is there
before=$(metric process_resident_memory_bytes)
open_all() { open_idle "$count" >"$scratch/opened"; }
open_all # not in point: $idle is set here
point "$count connections are held$limited" test ! -s "$scratch/opened"
point "a request is answered beside them" gets 200 '"macs' /v1/inspect --max-time 5 -d '{"model": "resnet50", "batch": 3}'
during=$(metric process_resident_memory_bytes)
per_connection() {
    local each=$(((${during%.*} - ${before%.*}) / count))
    [ "$each" -lt 16384 ] || { echo "$each bytes"; return 1; }
}
point "each takes less than 16 KiB of resident memory" per_connection
close_idle
point "their descriptors come back" come_down process_open_fds 40
point "and their memory" come_down process_resident_memory_bytes $((${before%.*} + 12000000))
stop_server

start_server --workers 1 --timeout 2 || exit 1
open_all
point "clients that do not go on are closed by the server, all $count" come_down foretell_http_connections 2
close_idle
stop_server

# --- More than the limit ---------------------------------------------------------------------------------------------------

ulimit -n 256 # three quarters of them are for connections
start_server --workers 1 --timeout 60 || exit 1
open_idle 192 >"$scratch/opened"
point "192 connections with 256 descriptors" test ! -s "$scratch/opened"
point "one more is refused, with the reason" fails 503 'connections are open' /v1/devices
point "and to come back later" grep -qi '^retry-after:' "$scratch/headers"
point "the server is alive" gets 200 ok /healthz
close_idle
accepted() { come_down foretell_http_connections 2 && gets 200 rtx-4090 /v1/devices; }
point "it is accepted when others are gone" accepted
flood() {
    open_idle 230 >/dev/null # never that many at once
    gets 200 ok /healthz
}
point "a flood leaves room for /healthz" flood
stop_server
finish
