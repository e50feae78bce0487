#!/bin/bash
# Searching and leaving out with the command on a small made-up data set: the same trials with any number of workers and
# after being killed; what comes out can be trained with.
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

search() { # folder, options...
    local folder=$1
    shift
    "$foretell" tune --data data --family totals-gbt --config rounds=27 -o "$folder" --trials 12 --quiet "$@" >"$folder.out"
}

same_search() { # folder, folder
    cmp "$1/trials.csv" "$2/trials.csv" && cmp "$1/best.json" "$2/best.json" && cmp "$1.out" "$2.out"
}

workers_do_not_matter() {
    search one --workers 1 && search two --workers 2 && same_search one two
}

best_can_be_trained() {
    "$foretell" train --data data --family totals-gbt --config one/best.json -o best --quiet >/dev/null &&
        [ -s best/predictor.ftm ]
}

# Killed again and again, sooner or later it is through.
killed_and_resumed() {
    local i
    for i in 2 3 4 5 6 7 8 9; do
        if [ -s killed/journal.jsonl ]; then
            timeout -s KILL 0.$i "$foretell" tune --data data --family totals-gbt --config rounds=27 -o killed --trials 12 \
                --quiet --workers 2 --resume >/dev/null 2>&1
        else
            rm -rf killed
            timeout -s KILL 0.$i "$foretell" tune --data data --family totals-gbt --config rounds=27 -o killed --trials 12 \
                --quiet --workers 2 >/dev/null 2>&1
        fi
    done
    [ -s killed/journal.jsonl ] && search killed --resume && same_search one killed
}

other_search_is_refused() {
    search one --resume --seed 1 2>message
    [ $? = 2 ] && grep -q 'belongs to another search: its seed was 0, now it is 1' message
}

one_process_at_a_time() {
    exec 9<one/journal.jsonl
    flock -x 9
    search one --resume 2>message
    local status=$?
    exec 9<&-
    [ "$status" = 2 ] && grep -q 'another process' message
}

formats_agree() {
    search one --resume --format csv && cmp one.out one/trials.csv &&
        search one --resume --format json && grep -q '"objective": "mape"' one.out
}

ablation_is_printed() {
    "$foretell" ablate --data data --family kernel-sum --config steps=60 --config hidden=8 --config rounds=5 --off rounds=0 \
        --off members=1 --seeds 2 -o ablation --quiet >table &&
        [ "$(wc -l <ablation/ablation.csv)" = 4 ] && grep -q 'rounds=0' table
}

point "the number of workers does not matter" workers_do_not_matter
point "the best settings can be trained with" best_can_be_trained
point "killed and resumed, it comes to the same end" killed_and_resumed
point "a journal of another search is refused" other_search_is_refused
point "one process at a time" one_process_at_a_time
point "table, JSON and CSV have the same trials" formats_agree
point "an ablation prints the loss of each factor" ablation_is_printed
finish
