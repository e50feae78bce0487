#!/bin/bash
# On one engine a replay takes as long as the prediction, whatever way the times came: asked for, or written down by
# predict and read again. On more engines it stays between the critical path and that.
set -u
. tests/repo/tap.sh
build=$(realpath "${BUILD:-build}")
PATH=$build:$PATH
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for network in mobilenet_v2 detector; do
    "$build/makemodel" --no-weights "$network" "$scratch/$network.onnx" || exit 1
done
cd "$scratch" || exit 1
mkdir made box
echo model,device,time_us >made/times.csv
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$build/makemodel" --no-weights --width "0.$((10 + 4 * i))" resnet50 "made/r$i.onnx" || exit 1
    echo "r$i.onnx,adreno-640,$((900 + 310 * i * i))" >>made/times.csv
done
foretell import table made/times.csv -o data --quiet || exit 1
foretell train --data data -o run --family roofline --split random:50/25/25 --seed 1 --quiet >/dev/null || exit 1
cp run/predictor.ftm box
cat >gpu.json <<END
{"foretell_device": 1, "name": "gpu", "text": "a GPU", "kind": "gpu", "runtime": "torch-eager",
 "peak_float32_flops": 10e12, "peak_float16_flops": 20e12, "bandwidth_bytes_per_s": 400e9, "memory_bytes": 8589934592}
END
export FORETELL_PREDICTORS=box

# The cell of the first row under a heading, in CSV without quotes.
cell() { # column
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR == 2 { print $c }'
}

same() { # number, number
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && b > 0 && a / b < 1 + 1e-9 && b / a < 1 + 1e-9) }' ||
        { echo "$1 is not $2"; return 1; }
}

ask="--device gpu.json --batch 4 --format csv" # from its data sheet

replay_is_the_prediction() { # network, mode
    local predicted replayed
    predicted=$(foretell predict "$1.onnx" $ask --mode "$2" | cell time_us)
    replayed=$(foretell replay "$1.onnx" $ask --mode "$2" | cell iteration_us)
    same "$predicted" "$replayed"
}

written_down_is_the_same() { # network, mode, format
    local predicted replayed
    predicted=$(foretell predict "$1.onnx" $ask --mode "$2" | cell time_us)
    foretell predict "$1.onnx" --device gpu.json --batch 4 --mode "$2" --by-layer --format "$3" >"layers.$3"
    replayed=$(foretell replay "$1.onnx" --times "layers.$3" --batch 4 --mode "$2" --format csv | cell iteration_us)
    same "$predicted" "$replayed"
}

engines_keep_to_the_bounds() { # network, engines
    foretell replay "$1.onnx" $ask --engines "$2" >replay.csv || return 1
    awk -v i="$(cell iteration_us <replay.csv)" -v s="$(cell kernel_us <replay.csv)" -v c="$(cell critical_us <replay.csv)" \
        'BEGIN { e = 1e-9 * s; exit !(i >= c - e && i <= s + e && c > 0) }' || { cat replay.csv; return 1; }
}

# Lists of kernels say what the summary says.
kernels_add_up() { # network
    local sum
    sum=$(foretell replay "$1.onnx" $ask --by-kernel |
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time_us") c = i } NR > 1 { s += $c } END { printf "%.17g", s }')
    same "$sum" "$(foretell replay "$1.onnx" $ask | cell kernel_us)"
}

# A predictor that was trained, with a start before the first kernel.
trained_is_the_prediction() { # network
    same "$(foretell predict "$1.onnx" --device adreno-640 --format csv | cell time_us)" \
        "$(foretell replay "$1.onnx" --device adreno-640 --format csv | cell iteration_us)"
}

for network in mobilenet_v2 detector; do
    point "$network: one engine takes the time that a trained predictor predicts" trained_is_the_prediction $network
    for mode in infer train; do
        point "$network, $mode: one engine takes the predicted time" replay_is_the_prediction $network $mode
        for format in csv json; do
            point "$network, $mode: so it does with times from predict's $format" written_down_is_the_same $network $mode $format
        done
    done
    point "$network: two lanes keep to the bounds" engines_keep_to_the_bounds $network compute:2
    point "$network: two engines keep to the bounds" engines_keep_to_the_bounds $network 'mme:conv;tpc:*'
    point "$network: kernels add up" kernels_add_up $network
done
finish
