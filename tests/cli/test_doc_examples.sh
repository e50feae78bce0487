#!/bin/bash
# Examples of docs/data.md, docs/adapting.md and docs/predictors.md that need files of a reader are run with small ones:
# the commands are taken from the pages, so that a page cannot show what does not work.
set -u
. tests/repo/tap.sh
tree=$PWD
build=$(realpath "${BUILD:-build}")
scratch=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)")
trap 'rm -rf "$scratch"' EXIT
PATH=$build:$PATH
export LC_ALL=C.UTF-8

# The first block of a page that contains a text.
block() { # page, text
    awk -v text="$2" '/^```/ {inside = !inside; if (inside) {held = ""} else if (index(held, text)) {printf "%s", held; exit}; next}
        inside {held = held $0 "\n"}' "$tree/docs/$1"
}

# Every command of a block; the line of dots is what the reader does.
run_block() { # page, text
    local line
    while IFS= read -r line; do
        case $line in
        foretell\ *) eval "$line" --quiet >out.txt 2>&1 || { echo "$line"; cat out.txt; return 1; } ;;
        ...*) measure || return 1 ;;
        *) echo "neither a command nor dots: $line" && return 1 ;;
        esac
    done < <(block "$1" "$2")
}

# Times of the listed models, from the sizes in their names, on a device of the reader.
measure() {
    awk -F, 'NR == 1 {print "model,device,time_us"; next} {split($2, size, /[_.]/); print $2 ",my-phone," 300 + 40 * size[2]}' list.csv >measured.csv
}

data_example_trains() {
    mkdir -p "$scratch/data" && cd "$scratch/data" || return 1
    cp -r "$tree"/examples/measurements/* . && rm measurements.csv
    block data.md 'small_cnn.onnx,cortex-a76' >table.csv
    cmp table.csv "$tree/examples/measurements/measurements.csv" || return 1
    foretell import table table.csv -o mine --quiet || return 1
    for family in flops kernel-nnls kernel-sum; do
        foretell train --data mine -o "$family" --family "$family" >out.txt 2>&1 || { cat out.txt; return 1; }
        grep -q "different models, which is few" out.txt || { echo "$family: no word on how few they are" && return 1; }
    done
}

config_example_trains() {
    local option
    cd "$scratch/data" || return 1
    option=$(grep -o -- "--config '{[^}]*}'" "$tree/docs/predictors.md" | head -1)
    [ -n "$option" ] || { echo "no example of --config" && return 1; }
    eval "foretell train --data mine -o inline --family kernel-nnls --quiet $option" >out.txt 2>&1 || { cat out.txt; return 1; }
    grep -q '"ridge": 0.001' inline/config.json || { echo "the setting is not in config.json" && return 1; }
    foretell train --data mine -o two --family kernel-nnls --quiet --config '{"ridge": 1e-3}' --config '{}' >out.txt 2>&1 && return 1
    grep -q "only one file or object" out.txt
}

adapting_example_works() {
    mkdir -p "$scratch/adapt/devices" && cd "$scratch/adapt" || return 1
    cp "$tree/predictors/phone.ftm" . || return 1
    echo model >pool.csv
    for size in $(seq 1 120); do
        "$build/makemodel" --no-weights --width "0.$((100 + 7 * size))" resnet50 "net_$size.onnx" || return 1
        echo "net_$size.onnx" >>pool.csv
    done
    printf '{"foretell_device": 1, "name": "my-phone", "text": "A phone", "kind": "cpu", "runtime": "tflite-cpu"}\n' >devices/my-phone.json
    cp net_7.onnx model.onnx
    run_block adapting.md "foretell sample"
}

all_records_are_evaluated() {
    cd "$scratch/adapt" || return 1
    foretell eval --predictor mine.ftm --data mine >out.txt 2>&1 && return 1 # all were learned from
    grep -q "records are of models that the predictor was adapted with" out.txt || { cat out.txt; return 1; }
    foretell eval --predictor mine.ftm --data mine --split all >out.txt 2>&1 || { cat out.txt; return 1; }
    grep -q "50 records" out.txt
}

point "the table of docs/data.md can be imported and trained" data_example_trains
point "the setting of docs/predictors.md can be given as it is shown" config_example_trains
point "the commands of docs/adapting.md work" adapting_example_works
point "learned models are evaluated with --split all alone" all_records_are_evaluated
finish
