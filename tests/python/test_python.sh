#!/bin/bash
# The Python package: every value beside the command's, layouts of structs, errors, threads, the wheel in a fresh
# environment. FORETELL_PYTHON names the interpreter.
set -u
build=$(realpath "${BUILD:-build}")
python=${FORETELL_PYTHON:-}
for name in /usr/bin/python3 python3; do
    [ -n "$python" ] || ! command -v "$name" >/dev/null 2>&1 || python=$name
done
if [ -z "$python" ]; then
    echo '1..0 # SKIP there is no python3'
    exit 0
fi
# The address sanitizer has to be the first library of a process; an interpreter is not built with it.
if nm -D "$build/libforetell.so" | grep -q '__[at]san_'; then
    echo '1..0 # SKIP a library with a sanitizer cannot be loaded by an interpreter without'
    exit 0
fi
export FORETELL_BUILD=$build FORETELL_LIBRARY=$build/libforetell.so FORETELL_PREDICTORS=$PWD/predictors
export PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8
exec "$python" tests/python/run.py
