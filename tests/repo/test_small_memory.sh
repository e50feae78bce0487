#!/bin/bash
# Commands in a small address space (ulimit -v): each ends, with its result or with exit code 11 and a message; none hangs
# in a library that waits for memory, and what needs no library runs in little memory.
set -u
. tests/repo/tap.sh
build=$(realpath "${BUILD:-build}")
tree=$PWD
foretell=$build/foretell
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C.UTF-8

if [ -n "$(nm "$foretell" 2>/dev/null | grep -m1 -E '__[at]san_init')" ]; then
    skip "commands end in a small address space" "sanitizers map terabytes"
    finish
fi

# In that many KiB; the process is killed if it does not end.
in_memory() { # KiB, command...
    local size=$1
    shift
    (ulimit -v "$size" && exec timeout -s KILL 60 "$@") >"$scratch/out" 2>"$scratch/err"
}

ends_everywhere() { # sizes, arguments of the command
    local size status sizes=$1
    shift
    for size in $sizes; do
        rm -rf run
        in_memory "$size" "$foretell" "$@"
        status=$?
        [ "$status" = 0 ] && continue
        [ "$status" = 11 ] && grep -q -i memory "$scratch/err" && continue
        # Below a few megabytes the loader cannot map the C library.
        [ "$status" = 127 ] && grep -q 'error while loading shared libraries' "$scratch/err" && [ "$size" -lt 12000 ] && continue
        echo "$size KiB: exit code $status: $(cat "$scratch/err")"
        return 1
    done
}

runs_in() { # KiB, arguments of the command
    local size=$1
    shift
    in_memory "$size" "$foretell" "$@" || { echo "exit code $?: $(cat "$scratch/err")"; return 1; }
}

cd "$scratch" || exit 1
"$build/makemodel" --no-weights mobilenet_v2 net.onnx && "$tree/scripts/make-measurements" cg 12 &&
    "$foretell" import cg cg -o data --quiet || exit 1
few='6000 9000 12000 16000 20000 30000 45000 66000 100000 200000'
large='30000 66000 100000 130000 160000 180000 200000 240000 280000 320000 400000 600000'
point "--version runs in 12 MB" runs_in 12000 --version
point "inspect runs in 20 MB" runs_in 20000 inspect net.onnx
point "predict runs in 30 MB" runs_in 30000 predict net.onnx
point "--version ends everywhere" ends_everywhere "$few" --version
point "inspect ends everywhere" ends_everywhere "$few" inspect net.onnx
point "predict ends everywhere" ends_everywhere "$few" predict net.onnx
point "a plot ends everywhere" ends_everywhere "$few 40000 80000 90000 120000 140000" predict net.onnx --device rtx-3090 --plot p.png
for family in kernel-nnls 'totals-gbt --config rounds=2' 'digraph --config steps=2 --config check=1 --config hidden=8' \
    'kernel-sum --config steps=2 --config members=1 --config hidden=4'; do
    # shellcheck disable=SC2086 # options
    point "training ${family%% *} ends everywhere" ends_everywhere "$large" train --data data -o run --quiet --family $family
done
finish
