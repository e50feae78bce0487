# shellcheck shell=bash
# tap.sh - for test scripts to source: counts and prints test points.
#
# `point NAME COMMAND...` runs a command; its output is shown, as comments, only when it fails. `skip NAME WHY` says
# that something could not be tested here. `finish` prints the plan and exits.
tap_count=0
tap_failed=0

point() {
    local name=$1 output
    shift
    tap_count=$((tap_count + 1))
    if output=$("$@" 2>&1); then
        echo "ok $tap_count - $name"
    else
        echo "not ok $tap_count - $name"
        printf '%s\n' "$output" | sed 's/^/# /'
        tap_failed=1
    fi
}

skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count # SKIP $1: $2"
}

finish() {
    echo "1..$tap_count"
    exit "$tap_failed"
}
