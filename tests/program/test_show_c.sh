#!/bin/bash
# Lowering is correct: made-up schedules and template configurations are emitted as C, which runs them and compares with
# plain loops; and the comparison detects a wrong nest.
set -u
. tests/repo/tap.sh
foretell=$(realpath "${BUILD:-build}")/foretell
schedules=$PWD/tests/program/schedules.jsonl
templates=$PWD/tests/program/templates.jsonl
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

compiles_and_runs() { # file of C
    cc -w -O0 "$1" -o "${1%.c}" -lm && "./${1%.c}"
}

nests_are_right() { # log, options
    "$foretell" program show "$@" --emit-c -o all.c && compiles_and_runs all.c
}

# One loop of the first program starts at 1 instead of 0.
wrong_nest_is_noticed() {
    "$foretell" program show "$schedules:1" --emit-c -o one.c || return 1
    sed '0,/for (long v0 = 0; v0 < \([0-9]*\);/s//for (long v0 = 1; v0 < \1;/' one.c >wrong.c
    ! cmp -s one.c wrong.c && cc -w -O0 wrong.c -o wrong -lm && ! ./wrong
}

point "nests compute the same as plain loops, equally often" nests_are_right "$schedules"
point "nests of shrunken problems too" nests_are_right "$schedules" --small
point "with other lengths" nests_are_right "$schedules" --small --seed 1000
point "nests of AutoTVM's templates too" nests_are_right "$templates"
point "and of shrunken problems" nests_are_right "$templates" --small
point "a nest that skips an iteration is detected" wrong_nest_is_noticed
finish
