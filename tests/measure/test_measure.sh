#!/bin/bash
# `foretell measure` as a user runs it: the table that it writes is imported; what fails does not lose what was measured.
# With the stand-in library, and with ONNX Runtime where it is installed.
set -u
. tests/repo/tap.sh
build=$(realpath "${BUILD:-build}")
foretell=$build/foretell
runtime=${FORETELL_ORT:-$build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export LC_ALL=C.UTF-8 FORETELL_ORT=$build/standin/libonnxruntime_standin.so
"$build/makemodel" custom_op a.onnx && "$build/makemodel" fixed_batch b.onnx && printf 'no model\n' >c.onnx || exit 1

says() { # text, command...
    local output
    output=$("${@:2}" 2>&1)
    echo "$output"
    grep -q -e "$1" <<<"$output"
}

rows_of() { # file: rows without the heading
    tail -n +2 "$1" | wc -l
}

keeps_what_was_measured() {
    "$foretell" measure a.onnx c.onnx b.onnx --seconds 0.05 -o kept.csv --quiet
    [ $? = 13 ] && [ "$(rows_of kept.csv)" = 2 ] && grep -q '^b.onnx,here,' kept.csv
}

continues_a_table() {
    "$foretell" measure a.onnx --seconds 0.05 -o kept.csv --quiet && [ "$(rows_of kept.csv)" = 3 ] &&
        [ "$(grep -c '^model,' kept.csv)" = 1 ]
}

leaves_other_files_alone() {
    echo 'my own notes' >notes.csv
    ! "$foretell" measure a.onnx -o notes.csv && [ "$(cat notes.csv)" = 'my own notes' ]
}

is_imported() {
    sed -E 's/,[a-z]+$/,no/; 1s/.*/model,device,batch,mode,shape,setting,time_us,time_median_us,cpu_us,cpu_median_us,resident_bytes,runs,noisy/' \
        kept.csv >calm.csv
    "$foretell" import table calm.csv -o calm.data --quiet && says 'here' "$foretell" data info calm.data
}

noisy_rows_are_not_imported() {
    sed -E '2s/,[a-z]+$/,waiting/; 3s/,[a-z]+$/,no/; 4d' kept.csv >noisy.csv
    says 'marked as noisy' "$foretell" import table noisy.csv -o noisy.data
}

without_a_runtime() {
    FORETELL_ORT=$scratch/none "$foretell" measure a.onnx
    [ $? = 22 ]
}

rounds_are_compared() {
    says 'rounds agree within' "$foretell" measure a.onnx c.onnx b.onnx --repeat 2 --seconds 0.05
}

point "what was measured is kept when a model fails" keeps_what_was_measured
point "lines are added to an existing table" continues_a_table
point "a file that is no table of measurements is left alone" leaves_other_files_alone
point "the table is imported" is_imported
point "noisy rows are not imported" noisy_rows_are_not_imported
point "a missing runtime has an exit code of its own" without_a_runtime
point "rounds are compared, also when a model fails" rounds_are_compared
point "more threads than cores are refused" says 'cores' "$foretell" measure a.onnx --threads 1000

real_times_add_up() { # nodes of the profile and the whole, within a factor that any noise allows
    FORETELL_ORT=$runtime "$foretell" measure b.onnx --by-layer --seconds 0.5 --format json >real.json 2>/dev/null || return 1
    cat real.json
    grep -q '"op": "Conv"' real.json
}

if FORETELL_ORT=$runtime "$foretell" measure b.onnx --seconds 0.05 >/dev/null 2>&1; then
    point "ONNX Runtime measures a model and its nodes" real_times_add_up
else
    skip "ONNX Runtime measures a model" "it is not installed (make deps-measure)"
fi
finish
