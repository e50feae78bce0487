#!/bin/bash
# `foretell monitor` as a user runs it, with the processor of this machine and the stand-in for NVML.
set -u
. tests/repo/tap.sh
build=$(realpath "${BUILD:-build}")
foretell=$build/foretell
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export LC_ALL=C.UTF-8 FORETELL_NVML=$build/standin/libnvidia_ml_standin.so

has_the_status_of_the_command() {
    "$foretell" monitor --quiet --interval 0.02 -- sh -c 'exit 7'
    [ $? = 7 ]
}

sees_a_busy_processor() {
    "$foretell" monitor --warm-up 0 --interval 0.05 --samples busy.csv --format csv -o sum.csv -- \
        sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done' || return 1
    cat sum.csv
    awk -F, '$1 == "cpu" { found = $4 > 0 } END { exit !found }' sum.csv &&
        awk -F, 'NR > 1 && NF != 7 { bad = 1 } END { exit bad || NR < 4 }' busy.csv
}

lists_gpus() {
    "$foretell" monitor --warm-up 0 --window 0.1 --interval 0.05 | grep -q 'gpu1 .*Stand-in GPU 1'
}

refuses_what_cannot_start() {
    "$foretell" monitor --quiet --interval 0.02 -- no-such-command
    [ $? = 127 ]
}

point "the exit status is that of the command" has_the_status_of_the_command
point "a busy processor is seen, and every sample is a whole line" sees_a_busy_processor
point "GPUs are listed" lists_gpus
point "a command that cannot be started is status 127" refuses_what_cannot_start
finish
