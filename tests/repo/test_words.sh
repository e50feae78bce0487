#!/bin/bash
# Words and names that were given up do not come back: each is a regular expression with the one to use instead.
#
# A line is EXPRESSION => REPLACEMENT, or EXPRESSION => REPLACEMENT @ EXPRESSION OF LINES THAT MAY HAVE IT (file:number:text).
# Strings that predictor files or data sets store cannot be renamed; they are such lines.
set -u
. tests/repo/tap.sh

words=$(
    cat <<'WORDS'
\bft_box => ft_predictor_set
\bft_query => ft_request
\bft_(answer|forecast)s?\b => ft_result
\bft_forecast_make => ft_predict
\bft_estimate\b => ft_metric_result
\bft_part_time => ft_part
\bft_source_kind => ft_provenance
\bft_predictor_answer => ft_predictor_predict
\bft_largest_batch => ft_max_batch
\bforesee => precompute
\bopinion => ensemble_result
\btorch_(ways|pay|ask|asker|column)\b => torch_hidden, torch_cost, torch_predict, torch_infer, torch_setting
\bkernel_near\b => kernel_seen
\bprogram_(meet|shelf)\b|\bMET_ => device_times, program_pool, RES_
\bgnn_levels|[Ff]orgiv(e|en|es)\b => subtract_group_offset
\bcrowds?\b => dataset_stats
\bkeepers?\b => fit_session
\bhunts?\b => batch_search, search
\brun_wish\b => run_mode
\bstudy\.[ch]\b|\bstudy_[a-z]+\( => forecast_context (context.c)
\bsubject\.[ch]\b|\b\*+subjects?\b => model_view.h, view, model
\basking\b|\btrying\.[ch]\b|\bdesk\b => predict_options, trial_options, eval_session
\bwish(es)?\b => options, mode
\b(asked|asks?) about\b => predicted for
\beyes\b => extractor
\b(MOST|LEAST)\b|\b(MOST|LEAST)_[A-Z]|_(MOST|LEAST)_ => MAX_, MIN_
[Cc]areful networks|[Cc]lose networks => robust networks, specialist networks
What else is told => Other metrics
[Ii]n the box\b => bundled
\b[Nn]obody\b|\b[Ww]hoever\b|\b[Ss]omebody\b|\b[Aa]nybody\b|\b[Ee]verybody\b => the subject: "not measured on H100" @ ^tests/repo/test_setup.sh
\bwho asks\b|\bthose who\b => the caller, the user
\bsays? of itself\b => metadata
\b(told|tells?)\b => prints, reports, predicts, distinguishes
\bthe way back\b => the backward pass
\bbends? (it|them|the|what)\b => scales
\bknown before the run => constant-folded, constant
\b(worked|works?) out\b => computed, computes
\bwritten out\b => unrolled, decomposed
in the house|house rules => the tree
goes on behind => runs past the end
nothing to it\b => ignored
slip of the pen => misspelled
WORDS
)

files() {
    git ls-files -- '*.[ch]' '*.md' '*.sh' '*.py' '*.json' '*.txt' Makefile bench scripts cli docs tests fuzz tools 2>/dev/null |
        grep -v -E '^(fuzz/corpus/|bench/results/|tests/.*/data/|tests/repo/test_words\.sh$)|\.(svg|png|gz|ftm|onnx|tflite|pkl)$' | sort -u
}

not_used() { # expression replacement exception
    local found
    found=$(files | tr '\n' '\0' | xargs -0 grep -I -n -E -e "$1" | grep -v -E -e "${3:-^$}")
    [ -z "$found" ] || { echo "use instead: $2" && printf '%s\n' "$found" | head -20 && return 1; }
}

if ! git rev-parse --git-dir >/dev/null 2>&1; then
    skip "retired words" "not a git work tree"
    finish
fi
while IFS= read -r line; do
    expression=${line%% => *}
    rest=${line#* => }
    exception=
    [[ $rest != *' @ '* ]] || exception=${rest#* @ }
    point "no file has $expression" not_used "$expression" "${rest%% @ *}" "$exception"
done <<<"$words"
finish
