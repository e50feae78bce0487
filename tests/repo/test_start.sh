#!/bin/bash
# Libraries that the command and libforetell.so load: a scheduler that links the library must not get a window system,
# and a command that draws nothing and trains nothing must not wait for cairo, OpenBLAS, libyaml or libxgboost.
set -u
. tests/repo/tap.sh
build=${BUILD:-build}
work=$build/start-test
model=$build/models/mobilenet_v2.onnx
heavy='cairo|X11|xcb|fontconfig|openblas|gfortran|xgboost|gomp|yaml'
rm -rf "$work"
mkdir -p "$work"

needs_nothing_heavy() { # file
    local needed
    needed=$(ldd "$1") || return 1
    echo "$needed"
    ! grep -q -E "$heavy" <<<"$needed"
}

# Libraries whose code the loader started while a command ran.
loaded_by() { # arguments of the command
    rm -f "$work"/loads.*
    LD_DEBUG=libs LD_DEBUG_OUTPUT=$work/loads "$build/foretell" "$@" >/dev/null || return 1
    cat "$work"/loads.* | sed -n 's/.*calling init: //p'
}

loads_nothing_heavy() { # arguments of the command
    local loaded
    loaded=$(loaded_by "$@") || return 1
    echo "$loaded"
    grep -q 'libc\.so' <<<"$loaded" && ! grep -q -E "$heavy" <<<"$loaded"
}

plot_loads_cairo() {
    local loaded
    loaded=$(loaded_by predict "$model" --plot "$work/plot.png") || return 1
    echo "$loaded"
    grep -q 'libcairo\.so' <<<"$loaded" && ! grep -q -E 'openblas|xgboost' <<<"$loaded"
}

# What pkg-config adds for a static link is what the shared library needs.
pkg_config_names_what_is_linked() {
    make --no-print-directory BUILD="$build" "$build/foretell.pc" || return 1
    local asked linked
    asked=$(sed -n 's/^Requires.private: //p' "$build/foretell.pc" | tr ' ' '\n' | sed 's/^lib//; s/^zlib$/z/' | sort)
    linked=$(readelf -d "$build/libforetell.so" |
        sed -n 's/.*NEEDED.*\[lib\([^.]*\)\.so.*/\1/p' | grep -v -x -E 'm|c|asan|ubsan|gcc_s|pthread|dl' | sort)
    printf 'foretell.pc: %s\nlibforetell.so: %s\n' "$asked" "$linked"
    [ "$asked" = "$linked" ]
}

point "models are made" scripts/make-models mobilenet_v2
point "libforetell.so needs nothing heavy" needs_nothing_heavy "$build/libforetell.so"
point "the command needs nothing heavy" needs_nothing_heavy "$build/foretell"
point "foretell.pc requires what is linked" pkg_config_names_what_is_linked
point "--version loads nothing heavy" loads_nothing_heavy --version
point "inspect loads nothing heavy" loads_nothing_heavy inspect "$model"
if grep -q -w avx2 /proc/cpuinfo; then
    point "predict loads nothing heavy" loads_nothing_heavy predict "$model"
    point "a plot loads cairo" plot_loads_cairo
else
    skip "predict loads nothing heavy" "without AVX2 all products of matrices go through OpenBLAS"
    skip "a plot loads cairo" "without AVX2 all products of matrices go through OpenBLAS"
fi
finish
