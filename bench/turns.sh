# turns.sh - what scripts share that let foretell and PyTorch take turns (sourced): figures of rounds, and rows of CSV.
#
# Both run for a second or two each, one after the other, several rounds, so that what else the machine does meets both;
# with real-time priority where that is permitted. The figure of a row is the median of the rounds.
build=${BUILD:-build}
rounds=${ROUNDS:-5}
steps=${STEPS:-5}
cores=$(nproc) # which listens to OMP_NUM_THREADS
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
fast=
! chrt -f 10 true 2>/dev/null || fast='chrt -f 10'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. bench/blas.sh
has_torch=no
! /usr/bin/python3 -c 'import torch' 2>/dev/null || has_torch=yes

note() { echo "$2" >>"$work/$1"; } # key, ms
middle() { [ ! -e "$work/$1" ] || sort -g "$work/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
take() { awk -F, -v name="$1" '$1 == name { print $5 }' "$work/out"; } # name of a line

# torch THREADS SCRIPT ARGUMENTS... - one run of a twin
torch() {
    local threads=$1
    shift
    PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=$threads OMP_NUM_THREADS=$threads $fast /usr/bin/python3 "$@" >"$work/out" 2>/dev/null
}

row() { # name, threads, ms, peer ms, peer, target
    awk -v name="$1" -v threads="$2" -v ms="$3" -v peer_ms="$4" -v peer="$5" -v target="$6" 'BEGIN {
        ratio = peer_ms == "" ? "" : sprintf("%.2f", peer_ms / ms)
        met = target == "" || (ratio == "" && target !~ /<=/) ? "-" : \
            target ~ /<=/ ? (ms <= substr(target, 4) + 0 ? "yes" : "NO") : (ratio >= target ? "yes" : "NO")
        printf "%s,%s,%.4f,%s,%s,%s,%s,%s\n", name, threads, ms, peer_ms, peer_ms == "" ? "" : peer, ratio, target, met }'
}
