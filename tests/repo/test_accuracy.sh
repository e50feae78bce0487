#!/bin/bash
# The tables of README.md, docs/accuracy*.md, docs/speed.md and docs/utilisation.md are those of bench/results, and bench/accuracy computes them correctly; bench/noise
# separates noise from errors.
set -u
. tests/repo/tap.sh
export BUILD=${BUILD:-build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

page_is_fresh() { # page, script that writes its tables
    cp "$1" "$scratch/page.md" && PAGE=$scratch/page.md "$2" && diff -u "$1" "$scratch/page.md"
}

# A script that prints the tables of a page.
tables_are_in() { # page, script
    "$2" --table >"$scratch/tables" || return 1
    grep '^|' "$scratch/tables" | grep -vxFf "$1" | sed "s,^,not in $1: ," >"$scratch/missing"
    cat "$scratch/missing"
    [ ! -s "$scratch/missing" ]
}

# Two families left out: their mean; a predictor that there is not, and one with settings, are no part of it.
means_are_right() {
    {
        echo 'split,family_left_out,predictor,device,n,mape,rmspe,acc5,acc10,rmse,spearman,kendall,coverage90,width90,bias,seed,settings,data,seconds,commit'
        echo 'random,,flops,cortex-a76,10,1.25,,,99,,,,91,,,0,,abc,1'
        echo 'random,,oracle,cortex-a76,10,0,,,100,,,,90,,,0,,abc,1'
        echo 'random,,flops,cortex-a76,10,7,,,50,,,,91,,,0,depth=8,abc,1'
        echo 'family:a,a,flops,cortex-a76,10,2,,,40,,,,,,,0,,abc,1'
        echo 'family:b,b,flops,cortex-a76,10,4,,,80,,,,,,,0,,abc,1'
        echo 'family:b,b,flops,myriad-vpu,10,4,,,70,,,,,,,0,,abc,1'
        echo 'family:b,b,flops-mem,myriad-vpu,10,4,,,90,,,,,,,0,,abc,1'
    } >"$scratch/rows.csv"
    printf '%s\n' 'text' '<!-- random-mape -->' 'old' '<!-- end -->' '<!-- left-out-acc10 -->' '<!-- end -->' '<!-- other -->' \
        'kept' >"$scratch/page.md"
    RESULTS=$scratch/rows.csv PAGE=$scratch/page.md bench/accuracy || return 1
    diff -u - "$scratch/page.md" <<'PAGE'
text
<!-- random-mape -->
| MAPE, % | A76 CPU | Adreno 640 | Adreno 630 | Myriad VPU |
|---|---:|---:|---:|---:|
| flops | 1.25 |  |  |  |
<!-- end -->
<!-- left-out-acc10 -->
| within 10 % | A76 CPU | Adreno 640 | Adreno 630 | Myriad VPU |
|---|---:|---:|---:|---:|
| flops-mem (1 of 2) |  |  |  | 90.0 |
| flops | 60.0 |  |  | 70.0 |
<!-- end -->
<!-- other -->
kept
PAGE
}

# Family a is off by -2, -1, 1 and 2 % in its quarters, and by nothing else. In family b five graphs were measured twice, 3 % below and
# above what is predicted, and each time their runs are as far apart. One model of it is 20 % slower than predicted.
noise_is_separated() {
    mkdir -p "$scratch/data" && touch "$scratch/data/dataset.json"
    awk -v records="$scratch/data/records.csv" -v said="$scratch/said" 'BEGIN {
        print "graph,family,time_us,time_std_us" >records
        for (i = 0; i < 48; i++) add("a" i, "a", 0.01 + i / 1000, i < 12 ? -0.02 : i < 24 ? -0.01 : i < 36 ? 0.01 : 0.02)
        for (i = 0; i < 10; i++) add("b" int(i / 2), "b", 0.01 * (1 + int(i / 2)), i % 2 ? 0.03 : -0.03)
        add("slow", "b", 0.01, log(1.2))
    }
    function add(graph, family, spread, error) {
        printf "%s,%s,1000,%g\n", graph, family, 1000 * spread >records
        printf "{\"record\": %d, \"measured\": 1000, \"predicted\": %.12g, \"lo\": 1}\n", n++, 1000 / exp(error) >said
    }'
    # All records are of the test part; another predictor has learned the first two.
    {
        printf '#!/bin/sh\ncase "$*" in *"--part test"*) cat "%s" ;;\n' "$scratch/said"
        echo '*"-p other "*"--seed 3 --part train"*)'
        echo 'for i in 0 1 99; do echo "{\"record\": $i, \"measured\": 1000, \"predicted\": 1200, \"lo\": 1}"; done ;; esac'
    } >"$scratch/foretell"
    chmod +x "$scratch/foretell"
    BUILD=$scratch CG_DATA=$scratch/data bench/noise | diff -u <(cat <<'EXPECTED'
family,graphs,noise_percent,own_percent,spreads_alike
b,5,4.2,0.0,1.00

family,models,deviation_percent,quietest,second,third,loudest
a,48,1.6,-2.0,-1.0,1.0,2.0

# MAPE of these: 1.50, with the quarter known: 0.00
# off by more than 10 %: 1 of 59, measured slower than predicted: 1
EXPECTED
    ) - || return 1
    BUILD=$scratch CG_DATA=$scratch/data bench/noise --learned other 3 | diff -u <(cat <<'EXPECTED'
predictor,models,mape,acc10
not learned from,2,2.02,100.00
learned from,2,20.00,0.00
EXPECTED
    ) -
}

for page in README.md docs/accuracy*.md; do
    point "the scores in $page are those of bench/results" page_is_fresh "$page" bench/accuracy
done
for page in README.md docs/speed.md; do
    point "the speeds in $page are those of bench/results" page_is_fresh "$page" bench/readme
done
if command -v python3 >/dev/null; then
    for script in bench/gpu_utilisation bench/gpu_occupancy; do
        point "the tables of $script are in docs/utilisation.md" tables_are_in docs/utilisation.md "$script"
    done
fi
point "means over families, and only what belongs to the tables" means_are_right
point "bench/noise separates noise from errors by repeated graphs, the spread of runs and models of training" noise_is_separated
finish
