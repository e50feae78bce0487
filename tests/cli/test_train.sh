#!/bin/bash
# Training with the command on a small made-up data set: every family gives the same bytes whatever the number of threads
# and however it is stopped; folders, messages and exit codes are right when something is wrong.
set -u
. tests/repo/tap.sh
tree=$PWD
build=$(realpath "${BUILD:-build}")
foretell=$build/foretell
scratch=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)") # flushing is free in memory
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export LC_ALL=C.UTF-8
unset COLUMNS NO_COLOR

"$tree/scripts/make-measurements" cg 60
"$foretell" import cg cg -o data --quiet || exit 1
mkdir logs && cp "$tree/tests/program/schedules.jsonl" logs/v100.jsonl && "$foretell" import ansor logs -o programs --quiet || exit 1

# Made-up times of products and copies on two GPUs.
awk 'BEGIN {
    print "op,inputs,attributes,device,batch,setting,time_us"
    split("v100-pcie-32gb t4", device, " ")
    for (i = 1; i <= 40; i++)
        for (d = 1; d <= 2; d++) {
            printf "Gemm,Nx%d;%dx%d:weight,,%s,%d,torch=2.1.0,%g\n", 64 * i, 64 * i, 512, device[d], 8 * i, 20 + d * i * i / 30
            printf "Relu,Nx%d,,%s,%d,torch=2.1.0,%g\n", 640 * i, device[d], 8 * i, 20 + d * i * i / 100
        }
}' >kernels.csv && "$foretell" import kernels kernels.csv -o kernels --quiet || exit 1

# Made-up power of products, and utilisation of trainings.
awk 'BEGIN {
    print "device,dtype,op,inputs,time_us,power_w"
    for (i = 1; i <= 40; i++)
        printf "h200,bfloat16,MatMul,%dx%d;%dx%d:weight,%d,%d\n", 64 * i, 64 * i, 64 * i, 64 * i, 10 + i * i, 150 + 13 * i
}' >power.csv && "$foretell" import kernels power.csv -o power --quiet || exit 1
awk 'BEGIN {
    print "Filename,Activations-Params,Batch Size,Avg GPUTL,Avg SMACT,Avg SMOCC"
    for (i = 1; i <= 60; i++) {
        width = 64 * i; batch = 8 + 16 * (i % 8); busy = 100 * width * batch / (width * batch + 100000)
        printf "input:%d_arch:one_batch:%d.out,\"[(\047linear\047, %d, %d), (\047ReLU\047, %d, 0)]\",%d,%g,%g,%g\n",
            width, batch, width, (width + 1) * width, width, batch, busy, 0.8 * busy / 100, 0.3 * busy / 100
    }
}' >trainings.csv && "$foretell" import mlp trainings.csv -o trainings --quiet || exit 1

data_of() { # family
    case $1 in
    gpu-kernels) echo kernels ;;
    gpu-power) echo power ;;
    gpu-util) echo trainings ;;
    *-sequence | leaf-gbt | nest-gbt | task-median) echo programs ;;
    *) echo data ;;
    esac
}

exits_with() { # code, command...
    local expected=$1 status
    shift
    "$@"
    status=$?
    [ "$status" = "$expected" ] || { echo "exit code $status instead of $expected"; return 1; }
}

# What makes a family that takes long quick, and the metric of families that do not predict time; nothing for the others.
quick() { # family
    case $1 in
    kernel-sum*) echo --config steps=200 --config members=1 --config hidden=8 ;;
    gpu-kernels) echo --config rounds=20 --config device_rounds=20 ;;
    gpu-power) echo --metric power_w --config rounds=20 ;;
    gpu-util) echo --metric gpu_util_ratio --config rounds=20 ;;
    torch-sum) echo --config steps=100 --config members=1 --config hidden=8 ;;
    digraph | perfsage | seernet*) echo --config steps=40 --config check=10 --config batch=8 --config hidden=8 ;;
    *-sequence) echo --config steps=40 --config check=10 --config batch=8 --config hidden=8 ;;
    esac
}

train() { # run, options...
    local run=$1
    shift
    "$foretell" train --data "${data:-data}" -o "$run" --quiet "$@"
}

same_runs() { # run, run
    local file
    for file in predictor.ftm metrics.json config.json; do
        cmp "$1/$file" "$2/$file" || return 1
    done
    [ "$(ls "$1" | wc -l)" = 4 ] || { ls "$1"; return 1; }
}

# shellcheck disable=SC2046 # the words of quick are options
train_family() { # run, family, options...
    local run=$1 family=$2 data
    data=$(data_of "$2")
    shift 2
    train "$run" --family "$family" $(quick "$family") "$@"
}

threads_do_not_matter() { # family
    train_family "$1-1" "$1" --threads 1 && train_family "$1-2" "$1" --threads 2 && same_runs "$1-1" "$1-2"
}

# Resumes what is there, or starts when nothing is, and compares.
ends_as_it_should() { # run, family
    if [ -e "$1" ]; then train_family "$1" "$2" --resume; else train_family "$1" "$2"; fi && same_runs "$2-1" "$1"
}

# Whatever a kill leaves, resuming it (or starting, when there is nothing) ends in the same bytes.
killed_and_resumed() { # family
    local wait status pid
    for wait in 0.03 0.15; do
        rm -rf "$1-k"
        # shellcheck disable=SC2046
        "$foretell" train --data "$(data_of "$1")" -o "$1-k" --quiet --family "$1" $(quick "$1") >/dev/null &
        pid=$!
        sleep "$wait"
        kill -KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
        ends_as_it_should "$1-k" "$1" || return 1
    done
}

interrupted() { # family
    local status pid
    rm -rf "$1-i"
    # shellcheck disable=SC2046
    env --default-signal=INT "$foretell" train --data "$(data_of "$1")" -o "$1-i" --quiet --family "$1" $(quick "$1") \
        >/dev/null 2>message &
    pid=$!
    sleep 0.1
    kill -INT "$pid" 2>/dev/null
    wait "$pid"
    status=$?
    [ "$status" = 0 ] || [ "$status" = 130 ] || { echo "exit code $status"; cat message; return 1; }
    [ "$status" = 0 ] || [ ! -s message ] || grep -q stopped message || { cat message; return 1; }
    ends_as_it_should "$1-i" "$1"
}

# Waits until a file has as many lines with a word as asked for.
appears() { # file, word, lines
    local i
    for i in $(seq 1000); do
        [ "$(grep -c -- "$2" "$1" 2>/dev/null || true)" -ge "$3" ] 2>/dev/null && return 0
        sleep 0.01
    done
    echo "$1 never had $3 times $2"
    return 1
}

# Starts or resumes, and sends a signal as soon as the log has a word; fails when the run was complete before that.
signalled() { # run, signal, word, options...
    local run=$1 signal=$2 word=$3 pid
    shift 3
    env --default-signal=INT "$foretell" train --data data -o "$run" --quiet "$@" >/dev/null 2>message &
    pid=$!
    appears "$run/log.jsonl" "$word" 1 || return 1
    kill "-$signal" "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    [ -s "$run/checkpoint.bin" ] && [ ! -e "$run/metrics.json" ]
}

# Ctrl-C when there is something to go on from, resumed and killed, resumed again. A machine may be too busy to be
# in time with its signals, hence three tries.
stopped_in_the_middle() {
    local options=(--family kernel-sum --config steps=4000 --config members=1 --config hidden=8) try
    train undisturbed "${options[@]}" --threads 2 >/dev/null || return 1
    for try in 1 2 3; do
        rm -rf middle
        signalled middle INT '"step"' "${options[@]}" &&
            signalled middle KILL '"is_resumed": *true' "${options[@]}" --resume || continue
        train middle "${options[@]}" --resume >/dev/null && same_runs undisturbed middle
        return
    done
    echo "the run was never stopped in time"
    return 1
}

scores_are_shown() {
    train shown --family flops >out && grep -q 'cortex-a76' out && grep -q 'test part of split random' out
}

# flops cannot predict for a device that was left out.
nothing_to_test() {
    "$foretell" train --data data -o untested --family flops --split device:cortex-a76 2>message &&
        grep -q 'covers no record of the test part' message
}

run_that_exists() {
    train twice --family flops >/dev/null && cp -r twice before
    exits_with 2 train twice --family flops --seed 1 2>message && grep -q 'exists already' message &&
        same_runs before twice
}

forced() {
    train forced --family flops >/dev/null && train fresh --family flops --seed 1 >/dev/null &&
        train forced --family flops --seed 1 --force >/dev/null && same_runs forced fresh && [ ! -e forced.next ]
}

resumed_when_complete() {
    train done --family flops >/dev/null && cp -r done before-resume && train done --family flops --resume &&
        diff -r done/metrics.json before-resume/metrics.json
}

data_edited_between() {
    train edited --family flops >/dev/null && rm edited/metrics.json
    "$tree/scripts/make-measurements" cg2 61 && "$foretell" import cg cg2 -o data2 --quiet
    exits_with 2 "$foretell" train --data data2 -o edited --family flops --resume 2>message &&
        grep -q 'started with data' message
}

# Nothing is left when the options were wrong.
refused() { # exit code, words, options...
    local code=$1 words=$2
    shift 2
    exits_with "$code" train refused "$@" 2>message || { cat message; return 1; }
    grep -q -- "$words" message || { cat message; return 1; }
    [ ! -e refused ] && [ ! -e refused.next ]
}

full_disk() {
    (ulimit -f 1 && trap '' XFSZ && exits_with 3 train full --family flops 2>message) && grep -q 'cannot write' message &&
        [ ! -e full ]
}

config_of_all_kinds() {
    echo '{"absent_setting": 1}' >config.json
    refused 2 absent_setting --family flops --config config.json
}

families=$("$foretell" list families --format csv | tail -n +2 | cut -d, -f1)
for family in $families; do
    case $family in
    ethos-u | memory-*) continue ;; # of devices, or of a metric, that this data set does not have: tests/predictor tries them
    esac
    point "$family: the same bytes with one thread and two" threads_do_not_matter "$family"
    point "$family: the same bytes after being killed" killed_and_resumed "$family"
    point "$family: the same bytes after Ctrl-C" interrupted "$family"
done
point "kernel-sum: the same bytes after Ctrl-C in the middle, resumed, killed and resumed" stopped_in_the_middle
point "the scores of the test part are shown" scores_are_shown
point "a test part without a covered record is reported" nothing_to_test
point "a run that exists is not touched" run_that_exists
point "--force replaces it" forced
point "resuming a complete run changes nothing" resumed_when_complete
point "other data is not resumed with" data_edited_between
point "a family that does not exist" refused 2 "no family 'oracle'" --family oracle
point "a metric that does not exist" refused 2 "no metric 'power_w'" --metric power_w
point "a metric that was not measured" refused 2 'no training record' --metric time_std_us
point "a split that does not exist" refused 2 'split' --split sideways
point "a family of architectures that does not exist" refused 2 'nosuch' --split family:nosuch
point "nothing to resume" refused 2 'no such run' --resume
point "unknown settings in a file" config_of_all_kinds
point "an unknown setting" refused 2 absent_setting --family flops --config absent_setting=3
point "a config that is not there" refused 3 'cannot read' --config absent.json
point "a seed that is no number" refused 2 'whole number' --seed soon
point "full disk" full_disk
finish
