#!/bin/bash
# Completion scripts parse in their shells and offer options and values; the man page and the guides describe every option.
# That the scripts have every option is checked in test_commands.c.
set -u
. tests/repo/tap.sh
build=$(realpath "${BUILD:-build}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
PATH=$build:$PATH
for shell in bash zsh fish; do "$build/foretell" --completion "$shell" >"$scratch/foretell.$shell" || exit 1; done
compopt() { :; } # works only inside a real completion
. "$scratch/foretell.bash"

# offers LINE WORD: completing the line offers the word.
offers() {
    local line=$1 word=$2
    read -ra COMP_WORDS <<<"$line"
    [[ $line != *' ' ]] || COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _foretell
    printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -- "$word" || { echo "'$line' gives: ${COMPREPLY[*]}"; return 1; }
}

fish_offers() {
    fish -c "source $scratch/foretell.fish; complete -C'$1'" | cut -f1 | grep -qxF -- "$2" ||
        { echo "'$1' gives:"; fish -c "source $scratch/foretell.fish; complete -C'$1'"; return 1; }
}

# A command that options are taken from, and the page that is its guide.
declare -A guides=([predict]=docs/predict.md [fits]=docs/predict.md [max-batch]=docs/predict.md [diff]=docs/diff.md [replay]=docs/replay.md [inspect]=docs/inspect.md [train]=docs/training.md [tune]=docs/tuning.md [ablate]=docs/tuning.md [eval]=docs/evaluation.md
    [adapt]=docs/adapting.md [sample]=docs/adapting.md [compare]=docs/evaluation.md [import]=docs/data.md [generate]=docs/generate.md [data]=docs/data.md [program]=docs/programs.md)
long_options() { "$build/foretell" "$1" --help | grep -o -- '--[a-z][a-z-]*' | sort -u | grep -v -e --usage -e --version; }

every_option_is_offered() {
    local option
    for option in $(long_options "$1"); do offers "foretell $1 ${option:0:4}" "$option" || return 1; done
}

every_option_is_in_the_manual() {
    local option
    for option in $(long_options "$1"); do
        grep -qF -- "${option//-/\\-}" docs/man/foretell.1 || { echo "the man page lacks $option"; return 1; }
    done
}

every_option_is_in_the_guide() {
    local option
    for option in $(long_options "$1"); do
        [ "$option" = --help ] || grep -qF -- "$option" "${guides[$1]}" || { echo "${guides[$1]} lacks $option"; return 1; }
    done
}

manual_has_no_warnings() {
    local warnings
    warnings=$(LC_ALL=C.UTF-8 groff -t -man -Tutf8 -ww -z docs/man/foretell.1 2>&1)
    [ -z "$warnings" ] || { echo "$warnings"; return 1; }
}

point "commands" offers 'foretell ins' inspect
for command in "${!guides[@]}"; do
    point "options of $command" every_option_is_offered "$command"
    point "the man page has every option of $command" every_option_is_in_the_manual "$command"
    point "the guide has every option of $command" every_option_is_in_the_guide "$command"
done
point "names of devices" offers 'foretell predict x.onnx --device rtx-40' rtx-4090
point "all devices" offers 'foretell fits x.onnx -D al' all
point "what can be listed" offers 'foretell list dev' devices
point "devices to list" offers 'foretell list devices adreno-6' adreno-640
point "orders of a replay" offers 'foretell replay x.onnx --order cr' critical
point "modes" offers 'foretell fits x.onnx --mode tr' train
point "names of runtimes" offers 'foretell inspect x.onnx --kernels tflite-c' tflite-cpu
point "formats of output" offers 'foretell inspect --format js' json
point "formats of models" offers 'foretell list ops --model-format tfl' tflite
point "the value after =" offers 'foretell inspect --sort = fl' flops
point "files" offers 'foretell inspect cli/completion.c' cli/completion.c
point "kinds of imports" offers 'foretell import per' perfseer
point "actions on data" offers 'foretell data reh' rehash
point "names of families" offers 'foretell train --family flop' flops
point "parts of a split" offers 'foretell eval --part v' valid
point "-d of eval is a path" offers 'foretell eval -d cli/completion.c' cli/completion.c
point "commands after help" offers 'foretell help rep' replay
for shell in bash zsh fish; do
    if command -v "$shell" >/dev/null; then
        point "the script for $shell parses" "$shell" -n "$scratch/foretell.$shell"
    else
        skip "the script for $shell parses" "$shell is not there"
    fi
done
if command -v fish >/dev/null; then
    point "fish: commands" fish_offers 'foretell ins' inspect
    point "fish: values" fish_offers 'foretell fits x.onnx --mode tr' train
    point "fish: what can be listed" fish_offers 'foretell list ' runtimes
    point "fish: names of devices" fish_offers 'foretell predict x.onnx --device rtx-40' rtx-4090
else
    skip "fish offers words" "fish is not there"
fi
if command -v groff >/dev/null; then
    point "the man page is well formed" manual_has_no_warnings
else
    skip "the man page is well formed" "groff is not there"
fi
finish
