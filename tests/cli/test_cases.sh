#!/bin/bash
# Golden tests of the command: tests/cli/cases/NAME holds a shell line, what it prints, and its exit code:
#
#     $ foretell inspect tiny.onnx
#     (standard output)
#     --- stderr
#     (standard error)
#     --- exit 0
#
# `tests/cli/test_cases.sh --refresh [NAME...]` runs the lines again and writes down what they print now; read the
# difference before you commit it. Lines run in a scratch folder with small models (see make_models below).
set -u
. tests/repo/tap.sh
cases=$PWD/tests/cli/cases
build=$(realpath "${BUILD:-build}")
root=$PWD
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT

make_models() {
    local name
    for name in custom_op fixed_batch bert_base mobilenet_v2 llama_1b_int4 bert_optimized; do
        "$build/makemodel" --no-weights "$name" "$name.onnx" || return 1
    done
    "$build/makemodel" custom_op weights.onnx || return 1
    gzip -nc custom_op.onnx >packed.onnx.gz
    cat >llama.json <<'JSON'
{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
 "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "torch_dtype": "bfloat16",
 "max_position_embeddings": 131072}
JSON
    cp "$root/fuzz/corpus/gguf/llama.gguf" tiny.gguf
    head -c 700 custom_op.onnx >cut.onnx
    head -c 300 packed.onnx.gz >cut.onnx.gz
    printf 'no model at all\n' >readme.txt
    : >empty.onnx
    mkdir -p zoo/deeper zoo/.hidden none
    cp custom_op.onnx zoo/b.onnx
    cp fixed_batch.onnx zoo/deeper/a.onnx
    cp readme.txt zoo/notes.txt
    cp custom_op.onnx zoo/.hidden/c.onnx
    ln -s .. zoo/deeper/round
    cp readme.txt none/
    cp -r "$root/examples/measurements" measurements
    "$build/foretell" import table measurements/measurements.csv -o set --quiet || return 1
    cp -r set edited
    sed -i s/184/185/ edited/records.csv
    cp "$root"/tests/program/{schedules,templates}.jsonl "$root"/tests/program/{printed,module}.txt .
    mkdir -p language/newest language/broken
    cat >language/newest/config.json <<END
{"model_type": "newest", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
 "intermediate_size": 96, "vocab_size": 100, "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8"}}
END
    sed 's/: 4,/: 5,/' language/newest/config.json >language/broken/config.json
    make_run better 4.25 91.5
    make_run worse 6.5 80
}

# A data set of twelve networks on two devices, and two predictors trained on it.
make_data() {
    local i
    mkdir measured trained
    echo model,device,family,time_us >measured/times.csv
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        "$build/makemodel" --no-weights --width "0.$((10 + 4 * i))" resnet50 "measured/r$i.onnx" || return 1
        echo "r$i.onnx,adreno-640,$([ $i -gt 6 ] && echo wide || echo narrow),$((900 + 310 * i * i + 97 * (i % 3)))"
        echo "r$i.onnx,cortex-a76,$([ $i -gt 6 ] && echo wide || echo narrow),$((4000 + 2310 * i * i + 1297 * (i % 4)))"
    done >>measured/times.csv
    "$build/foretell" import table measured/times.csv -o data --quiet || return 1
    for i in flops roofline; do
        "$build/foretell" train --data data -o "trained/$i" --family "$i" --split random:50/25/25 --seed 1 --quiet \
            >/dev/null || return 1
    done
    mkdir box empty
    cp trained/roofline/predictor.ftm box/phone.ftm
    head -c 200 box/phone.ftm >cut.ftm
    cat >my-gpu.json <<END
{"foretell_device": 1, "name": "my-gpu", "text": "a GPU of my own", "kind": "gpu", "runtime": "torch-eager",
 "peak_float32_flops": 10e12, "peak_float16_flops": 20e12, "bandwidth_bytes_per_s": 400e9, "memory_bytes": 8589934592}
END
}

# A folder as a training run leaves it, as far as `compare` reads it.
make_run() { # name, mape, acc10
    mkdir -p "runs/$1"
    cat >"runs/$1/metrics.json" <<END
{"results": [
 {"part": "valid", "device": "adreno-640", "family": "all", "metric": "time_us", "n": 3, "mape": 1},
 {"part": "test", "device": "adreno-640", "family": "all", "metric": "time_us", "n": 20, "mape": $2, "rmspe": 9.5, "acc5": 50,
  "acc10": $3, "rmse": 1234.5, "spearman": 0.99, "kendall": 0.95, "coverage90": 89.5, "width90": 20, "bias": -0.25},
 {"part": "test", "device": "adreno-640", "family": "vggs", "metric": "time_us", "n": 20, "mape": $2, "rmspe": 9.5, "acc5": 50,
  "acc10": $3, "rmse": 1234.5, "spearman": null, "kendall": 0.95, "coverage90": 89.5, "width90": 20, "bias": -0.25}]}
END
}

# What a case prints now, in the form of its file. The process id in temporary names is not part of it.
run_case() { # name
    local line status
    line=$(sed -n '1s/^\$ //p' "$cases/$1")
    printf '$ %s\n' "$line"
    (
        cd "$scratch" || exit 99
        export LC_ALL=C.UTF-8 COLUMNS=80 TERM=dumb PATH="$build:$PATH" FORETELL_PREDICTORS=box
        unset NO_COLOR ARGP_HELP_FMT
        eval "$line"
    ) 2>"$scratch.err" </dev/null
    status=$?
    printf -- '--- stderr\n'
    cat "$scratch.err"
    rm -f "$scratch.err"
    printf -- '--- exit %d\n' "$status"
}

check_case() {
    run_case "$1" | diff -u "$cases/$1" -
}

(cd "$scratch" && make_models && make_data) || exit 1
if [ "${1:-}" = --refresh ]; then
    shift
    [ $# -gt 0 ] || set -- $(ls "$cases")
    for name; do
        run_case "$name" >"$scratch/new" && cp "$scratch/new" "$cases/$name"
    done
    git --no-pager diff --stat -- "$cases"
    exit 0
fi
for file in "$cases"/*; do
    name=$(basename "$file")
    point "$name: $(sed -n '1s/^\$ //p' "$file")" check_case "$name"
done
finish
