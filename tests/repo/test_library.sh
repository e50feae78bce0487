#!/bin/bash
# What a user of the library meets: the example that opens the public header, the programs of examples/, the symbols
# of the shared library, and an installed copy found through pkg-config.
set -u
. tests/repo/tap.sh
build=${BUILD:-build}
work=$build/library-test
rm -rf "$work"
mkdir -p "$work"
compile=${COMPILE:-cc}

# The program in the first comment of foretell.h: from its first #include to the line of its closing brace.
extract_example() {
    sed -n '/^ \*     #include/,/^ \*     }$/ s/^ \*     \?//p' include/foretell/foretell.h >"$work/example.c"
    grep -q 'int main' "$work/example.c"
}

build_example() {
    $compile -std=c11 -Wall -Wextra -Werror -Iinclude "$work/example.c" -o "$work/example" -L"$build" -lforetell
}

# The program in README.md: its only block of C.
readme_example_predicts() {
    local output
    sed -n '/^```c$/,/^```$/ { /^```/d; p }' README.md >"$work/readme.c"
    $compile -std=c11 -Wall -Wextra -Werror -Iinclude "$work/readme.c" -o "$work/readme" -L"$build" -lforetell || return 1
    output=$(FORETELL_PREDICTORS=$PWD/predictors LD_LIBRARY_PATH=$build "$work/readme" "$build/models/resnet50.onnx") || return 1
    echo "$output"
    [[ $output =~ ^[1-9][0-9]*\ us,\ [1-9][0-9]*\ bytes$ ]]
}

run_example() {
    local output
    output=$(LD_LIBRARY_PATH=$build "$work/example" "$build/models/mobilenet_v2.onnx") || return 1
    echo "$output"
    [ "$output" = "3504872 parameters, 2406194176 MACs" ]
}

example_says_why() { # a missing file: exit status FT_ERR_IO and a message that names it
    local output status
    output=$(LD_LIBRARY_PATH=$build "$work/example" no-such-file.onnx 2>&1)
    status=$?
    echo "status $status: $output"
    [ "$status" = 3 ] && [[ $output == *no-such-file.onnx* ]]
}

exports_are_public() {
    local extra
    extra=$(nm -D --defined-only "$build/libforetell.so" | awk '{ print $3 }' | grep -v '^ft_[a-z0-9_]*$' |
        grep -v -E '^(__asan|__ubsan|__sanitizer|__odr_asan|_init|_fini)')
    echo "not for users: $extra"
    [ -z "$extra" ]
}

declared_symbols() {
    cat include/foretell/*.h | tr '\n' ' ' | grep -o 'FT_API [^;(]*(' |
        sed -n 's/.*[ *]\(ft_[a-z0-9_]*\)($/\1/p' | sort -u
}

declared_is_exported() {
    comm -23 <(declared_symbols) <(nm -D --defined-only "$build/libforetell.so" | awk '{ print $3 }' | sort -u) >"$work/absent"
    echo "declared but not exported: $(cat "$work/absent")"
    [ ! -s "$work/absent" ]
}

exported_is_declared() {
    comm -13 <(declared_symbols) <(nm -D --defined-only "$build/libforetell.so" | awk '{ print $3 }' | grep '^ft_' |
        sort -u) >"$work/extra"
    echo "exported but not declared: $(cat "$work/extra")"
    [ ! -s "$work/extra" ]
}

install_copy() {
    make --no-print-directory BUILD="$build" PREFIX=/opt/foretell DESTDIR="$PWD/$work/dest" install
}

installed_sections() { # names of the sections of an installed file
    readelf -SW "$work/dest/opt/foretell/$1" | grep -o '\.\(debug_info\|symtab\)\b' | sort -u | tr '\n' ' '
}

# Command and shared library keep the symbols that programs link to, the static library those that linkers read.
installed_files_are_stripped() {
    local shared archive command
    shared=$(installed_sections lib/libforetell.so) command=$(installed_sections bin/foretell)
    archive=$(installed_sections lib/libforetell.a)
    echo "libforetell.so: '$shared', foretell: '$command', libforetell.a: '$archive'"
    [ -z "$shared$command" ] && [ "$archive" = '.symtab ' ] || return 1
    cmp <(nm -D --defined-only "$build/libforetell.so" | awk '{ print $3 }' | sort) \
        <(nm -D --defined-only "$work/dest/opt/foretell/lib/libforetell.so" | awk '{ print $3 }' | sort)
}

symbols_are_kept_on_request() {
    make --no-print-directory BUILD="$build" PREFIX=/opt/foretell DESTDIR="$PWD/$work/dest" STRIP= install >/dev/null || return 1
    local file
    for file in libforetell.so libforetell.a; do
        echo "$file: $(installed_sections "lib/$file")"
        [ "$(installed_sections "lib/$file")" = "$(readelf -SW "$build/$file" |
            grep -o '\.\(debug_info\|symtab\)\b' | sort -u | tr '\n' ' ')" ] || return 1
    done
    [[ $(installed_sections lib/libforetell.so) = *.symtab* ]]
}

use_installed() {
    local dest=$PWD/$work/dest flags
    flags=$(PKG_CONFIG_SYSROOT_DIR=$dest PKG_CONFIG_PATH=$dest/opt/foretell/lib/pkgconfig \
        pkg-config --cflags --libs foretell) || return 1
    # shellcheck disable=SC2086  # flags are words
    $compile -std=c11 "$work/example.c" -o "$work/example-installed" $flags || return 1
    LD_LIBRARY_PATH=$dest/opt/foretell/lib "$work/example-installed" "$build/models/mobilenet_v2.onnx"
}

completion_schemas_and_docs_are_installed() {
    local share=$work/dest/opt/foretell/share file
    for file in bash-completion/completions/foretell zsh/site-functions/_foretell fish/vendor_completions.d/foretell.fish \
        foretell/schema/predict.schema.json doc/foretell/predict.md doc/foretell/formats/onnx.md man/man1/foretell.1; do
        [ -s "$share/$file" ] || { echo "$file is missing"; return 1; }
    done
}

# A program of another folder has the predictors that were installed beside the library, wherever that is.
installed_predictors_are_found() {
    local dest=$PWD/$work/dest flags
    flags=$(PKG_CONFIG_SYSROOT_DIR=$dest PKG_CONFIG_PATH=$dest/opt/foretell/lib/pkgconfig \
        pkg-config --cflags --libs foretell) || return 1
    mkdir -p "$work/far/away/bin"
    # shellcheck disable=SC2086  # flags are words
    $compile -std=c11 examples/predict.c -o "$work/far/away/bin/predict" $flags || return 1
    LD_LIBRARY_PATH=$dest/opt/foretell/lib "$work/far/away/bin/predict" "$build/models/mobilenet_v2.onnx" |
        grep -E -- "${prints[predict]}"
}

uninstall_leaves_nothing() {
    make --no-print-directory PREFIX=/opt/foretell DESTDIR="$PWD/$work/dest" uninstall
    local left
    left=$(find "$work/dest" ! -type d)
    echo "left: $left"
    [ -z "$left" ]
}

# An example prints what it prints of a model with known counts: a pattern that must be in its output.
declare -A prints=(
    [engines]='^compute:1,copy:1 +[0-9]+ us, critical path'
    [batch_sweep]='^ +4 +1\.203 '
    [largest_batch]='up to batch [1-9][0-9]+$'
    [predict]='^ethos-u65-512 +[0-9]+ us'
    [top_layers]='^ +6\.7 % +20070400 MACs +Conv '
)

run_program() { # name
    local output
    output=$("$build/examples/$1" "$build/models/mobilenet_v2.onnx") || return 1
    echo "$output"
    grep -q -E -- "${prints[$1]}" <<<"$output"
}

point "models are made" scripts/make-models mobilenet_v2 resnet50
point "the header opens with a program" extract_example
point "it builds against the shared library" build_example
point "it counts MobileNetV2 at batch 8" run_example
point "the program in README.md compiles and predicts" readme_example_predicts
point "it says why it fails" example_says_why
for source in examples/*.c; do
    point "$source prints what it should" run_program "$(basename "$source" .c)"
done
point "the shared library exports only ft_ names" exports_are_public
point "what the headers declare is exported" declared_is_exported
point "what is exported is declared" exported_is_declared
point "install" install_copy
point "what is installed is stripped" installed_files_are_stripped
point "completion, schemas and docs are installed" completion_schemas_and_docs_are_installed
point "a program builds with pkg-config against the installed copy" use_installed
point "it finds the predictors that were installed" installed_predictors_are_found
point "make install STRIP= keeps debugging symbols" symbols_are_kept_on_request
point "uninstall leaves nothing" uninstall_leaves_nothing
finish
