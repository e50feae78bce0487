#!/bin/bash
# The tables of docs/accuracy.md are those of bench/results/cg.csv, and bench/accuracy puts the right numbers into them.
set -u
. tests/repo/tap.sh
export BUILD=${BUILD:-build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

page_is_fresh() {
    cp docs/accuracy.md "$scratch/page.md" && PAGE=$scratch/page.md bench/accuracy && diff -u docs/accuracy.md "$scratch/page.md"
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

point "docs/accuracy.md has the tables of bench/results/cg.csv" page_is_fresh
point "means over families, and only what belongs to the tables" means_are_right
finish
