#!/bin/bash
# The recipes of docs/recipes work: their blocks are applied to a copy of the sources, the few files that they touch are compiled and
# linked with the library that is already built, and the commands that a page shows print what it shows.
#
# A block ```LANGUAGE PATH is a new file, ```diff a patch, ```console commands with their output.
set -u
. tests/repo/tap.sh
build=${BUILD:-build}
root=$PWD
work=$root/$build/recipes
scripts/make-models resnet50 mobilenet_v2 custom_op >/dev/null || exit 1

# Writes the new files of a page, its patch and its commands.
extract() { # page folder
    awk -v folder="$2" '
        /^```/ && !inside { inside = 1; split($0, word, " "); kind = substr(word[1], 4); file = ""
            if (kind == "console") file = folder "/expected"
            else if (kind == "diff") file = folder "/patch"
            else if (word[2] != "") { file = folder "/" word[2]; path = file; sub("/[^/]*$", "", path); system("mkdir -p " path) }
            next }
        /^```/ { inside = 0; next }
        inside && file != "" { print > file }' "$1"
}

# The sources that have to be compiled again: new ones, patched ones, and those that expand a list that was patched.
changed_sources() { # page
    sed -n 's/^```c //p; s/^+++ b\/\(.*\.c\)$/\1/p' "$1"
    if grep -q '^+++ b/.*families\.h' "$1"; then grep -rl 'FAMILY_LIST' src --include='*.c'; fi
    if grep -q '^+++ b/include/foretell/graph\.h' "$1"; then grep -rlE 'FT_FORMAT_(LIST|COUNT)' src cli --include='*.c'; fi
}

# Compiles with the flags of the build, without optimisation, which only takes time here.
compile_changed() { # page
    local source command objects=() kept=() file
    command=$(sed 's/ -O[0-9a-z]*//g' "$root/$build/flags")
    mkdir -p obj
    for source in $(changed_sources "$1" | sort -u); do
        $command -c "$source" -o "obj/${source//\//_}.o" || return 1
        objects+=("obj/${source//\//_}.o")
    done
    if grep -q '^```json devices/' "$1"; then
        "$root/scripts/embed" device devices/*.json >obj/device.c && $command -Wno-error -c obj/device.c -o obj/device.o || return 1
        objects+=(obj/device.o)
    fi
    for file in cli/*.c serve/*.c; do
        [ -e "obj/${file//\//_}.o" ] || kept+=("$root/$build/obj/${file%.c}.o")
    done
    # shellcheck disable=SC2046,SC2086  # flags are words
    ${COMPILE:-cc} -o foretell "${objects[@]}" "${kept[@]}" "$root/$build/libforetell.a" \
        $(pkg-config --libs libprotobuf-c jansson zlib libxxhash) -lm -lpthread -ldl
}

# Runs each "$ foretell ..." line of a page and prints it with its output.
run_commands() {
    local line
    grep '^\$ ' expected | while IFS= read -r line; do
        printf '%s\n' "$line"
        (export PATH=$PWD:$PATH FORETELL_PREDICTORS=$root/predictors && eval "${line#'$ '}" 2>&1) </dev/null
    done
}

recipe_works() { # page
    local name page=$root/$1
    name=$(basename "$1" .md)
    rm -rf "$work/$name" && mkdir -p "$work/$name" && cd "$work/$name" || return 1
    cp -R "$root/src" "$root/include" "$root/cli" "$root/serve" "$root/devices" . && mkdir -p models || return 1
    ln -s "$root/$build/models"/*.onnx models && ln -s "$root/predictors" predictors || return 1
    mkdir -p "$(dirname "$build")" && ln -s "$root/$build" "$build" || return 1
    extract "$page" . || return 1
    [ ! -e patch ] || patch -p1 --fuzz=0 --no-backup-if-mismatch <patch || return 1
    compile_changed "$page" || return 1
    if grep -q 'made\.ftd' expected; then
        "$root/scripts/make-measurements" made 200 && ./foretell import cg made -o made.ftd >/dev/null 2>&1 || return 1
    fi
    run_commands >printed
    diff -u expected printed
}

for page in docs/recipes/*.md; do
    [ "$page" = docs/recipes/README.md ] || point "the recipe in $page works" recipe_works "$page"
done
finish
