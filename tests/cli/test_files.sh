#!/bin/bash
# What golden files cannot show: files that appear whole or not at all, signals, full disks, terminals, many files.
set -u
. tests/repo/tap.sh
build=$(realpath "${BUILD:-build}")
foretell=$build/foretell
root=$PWD
schema=$PWD/docs/schema/inspect.schema.json
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
"$build/makemodel" --no-weights custom_op "$scratch/tiny.onnx" || exit 1
"$build/makemodel" --no-weights mobilenet_v2 "$scratch/net.onnx" || exit 1
cd "$scratch" || exit 1
export LC_ALL=C.UTF-8
unset COLUMNS NO_COLOR

exits_with() { # code, command...
    local expected=$1 status
    shift
    "$@"
    status=$?
    [ "$status" = "$expected" ] || { echo "exit code $status instead of $expected"; return 1; }
}

no_leftovers() {
    local rest
    rest=$(find . -name '*.tmp')
    [ -z "$rest" ] || { echo "left behind: $rest"; return 1; }
}

# --- Files that appear whole ---

output_is_written() {
    exits_with 0 "$foretell" inspect tiny.onnx -f json -o new.json && grep -q '"schema_version": 1' new.json && no_leftovers
}

failure_keeps_old_file() {
    echo old >kept.json
    exits_with 3 "$foretell" inspect absent.onnx -f json -o kept.json && [ "$(cat kept.json)" = old ] && no_leftovers
}

partial_failure_writes_the_rest() {
    exits_with 13 "$foretell" inspect absent.onnx tiny.onnx -f csv -o some.csv && [ "$(wc -l <some.csv)" = 2 ]
}

rights_and_links_stay() {
    echo old >target.json && chmod 600 target.json && ln -s target.json link.json
    exits_with 0 "$foretell" inspect tiny.onnx -f json -o link.json && [ -L link.json ] &&
        [ "$(stat -c %a target.json)" = 600 ] && grep -q schema_version target.json
}

device_is_written_directly() {
    [ "$("$foretell" inspect tiny.onnx -f csv -o /dev/stdout | wc -l)" = 2 ]
}

no_such_folder() { exits_with 3 "$foretell" inspect tiny.onnx -o absent/x.json; }

# What is full is named: the output, and not the model that a report is about.
full_disk() { # command...
    exits_with 3 "$foretell" "$@" >/dev/full 2>message && grep -q '^foretell: standard output: cannot write' message &&
        [ "$(wc -l <message)" = 1 ] || { cat message; return 1; }
}
full_disk_of_file() {
    exits_with 3 "$foretell" predict tiny.onnx -D cortex-a76 -o /dev/full 2>message &&
        grep -q '^foretell: /dev/full: cannot write' message || { cat message; return 1; }
}

# --- Help ---

# What argp wraps cannot be copied: examples go on after a backslash. Nothing is wider than a terminal.
help_can_be_copied() {
    local command bad
    bad=$(for command in '' $("$foretell" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | sed '/^foretell$/d; /^help$/d'); do
        # shellcheck disable=SC2086 # no command is no word
        "$foretell" $command --help | awk -v name="foretell $command" '
            length($0) > 80 { print name ": is wide: " $0 }
            is_example && !/^ / && $0 != "" { print name ": is wrapped: " $0 }
            { is_example = $1 == "foretell" && /^  foretell/ || is_example && /^      / }'
    done)
    [ -z "$bad" ] || { echo "$bad"; return 1; }
}

# --- Signals ---

# Starts a long run, ends it by a signal, and checks what it leaves.
interrupted() { # signal, exit code
    local status
    echo old >long.json
    mkdir -p many
    [ -e many/1.onnx ] || for i in $(seq 300); do ln net.onnx "many/$i.onnx"; done
    local folders=()
    for i in $(seq 400); do folders+=(many); done
    env --default-signal="$1" "$foretell" inspect "${folders[@]}" --nodes -f json -o long.json &
    local pid=$!
    sleep 0.7
    kill -"$1" "$pid"
    wait "$pid"
    status=$?
    [ "$status" = "$2" ] || { echo "exit code $status instead of $2"; return 1; }
    [ "$(cat long.json)" = old ] && no_leftovers
}

# Standard output ends with a complete document: everything up to then is there.
interrupted_stdout_is_whole() {
    local folders=()
    for i in $(seq 400); do folders+=(many); done
    env --default-signal=INT "$foretell" inspect "${folders[@]}" -f json >cut.json &
    local pid=$!
    sleep 0.5
    kill -INT "$pid"
    wait "$pid"
    [ "$(head -c 1 cut.json)" = '[' ] && [ "$(tail -c 2 cut.json)" = ']' ]
}

# --- Many files take the memory of one ---

peak_kib() { # command...
    python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}

memory_does_not_grow() {
    local one many
    one=$(peak_kib "$foretell" inspect net.onnx --nodes -f json) || return 1
    many=$(peak_kib "$foretell" inspect many --nodes -f json) || return 1
    [ "$many" -lt $((one + 4096)) ] || { echo "$one KiB for one, $many KiB for 300"; return 1; }
}

# --- Terminals ---

on_terminal() { # columns, command... -> what a terminal of that width would get
    local columns=$1
    shift
    python3 - "$columns" "$@" <<'PYTHON'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.environ["TERM"] = "xterm"
    os.execvp(sys.argv[2], sys.argv[2:])
data = b""
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    data += piece
os.waitpid(pid, 0)
sys.stdout.buffer.write(data)
PYTHON
}

terminal_has_color() { on_terminal 100 "$foretell" inspect tiny.onnx | grep -q $'\033\[1m'; }
no_color_is_honoured() { ! NO_COLOR=1 on_terminal 100 "$foretell" inspect tiny.onnx | grep -q $'\033'; }
pipe_has_no_color() { ! "$foretell" inspect tiny.onnx | grep -q $'\033'; }
always_colors_a_pipe() { "$foretell" inspect tiny.onnx --color always | grep -q $'\033\[1m'; }

terminal_width_is_kept() {
    local columns
    for columns in 66 80 100 132; do
        NO_COLOR=1 on_terminal "$columns" "$foretell" inspect net.onnx --nodes --kernels tflite-cpu |
            python3 -c 'import sys
lines = sys.stdin.buffer.read().decode().replace("\r", "").split("\n")
wide = [line for line in lines if len(line) > int(sys.argv[1])]
print("\n".join(wide))
sys.exit(bool(wide) or len(lines) < 100)' "$columns" || return 1
    done
}

# Enough files for some seconds, and few enough for even a busy machine to be past the first thousandth of them soon.
progress_on_terminal() {
    local folders=()
    for i in $(seq 100); do folders+=(many); done
    on_terminal 100 timeout --foreground -s INT 8 "$foretell" inspect "${folders[@]}" -f json --nodes -o /dev/null >seen
    grep -q 'of [0-9]* files, .*%, .* left' seen || { echo "no progress line"; tail -c 300 seen; return 1; }
}

ascii_without_utf8() { LC_ALL=C "$foretell" inspect net.onnx --nodes | LC_ALL=C grep -q '[^ -~]' && return 1 || return 0; }

# --- Formats of output ---

json_fits_schema() {
    "$foretell" inspect tiny.onnx net.onnx --nodes --kernels torch-compile -f json >all.json &&
        python3 -W ignore -c 'import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' all.json "$schema"
}

catalogs_are_json() {
    local command
    for command in formats ops runtimes families 'ops --model-format tflite'; do
        "$foretell" list $command -f json | python3 -c 'import json, sys
rows = json.load(sys.stdin)
sys.exit(not rows or any("name" not in row for row in rows))' || { echo "foretell $command"; return 1; }
    done
}

unreadable_file() {
    cp tiny.onnx secret.onnx && chmod 000 secret.onnx
    exits_with 3 "$foretell" inspect secret.onnx
}

# Folders with models, damaged files, files of several graphs and of none: messages and documents are those of one thread.
any_threads_print_the_same() { # command...
    local threads
    if [ ! -d mixed ]; then
        mkdir -p mixed/a mixed/b/c
        for i in $(seq 12); do
            cp tiny.onnx "mixed/a/$i.onnx"
            gzip -nc net.onnx >"mixed/b/$i.onnx.gz"
            head -c $((80 * i)) net.onnx >"mixed/b/c/cut$i.onnx"
        done
        echo 'no model' >mixed/b/notes.txt
    fi
    for threads in 1 2 5; do
        exits_with 13 "$foretell" "$@" mixed tiny.onnx mixed/a --threads $threads >"out.$threads" 2>"err.$threads" || return 1
        cmp out.1 "out.$threads" && cmp err.1 "err.$threads" || return 1
    done
    [ "$(grep -c cut err.1)" -ge 10 ]
}

# Data sets do not depend on the number of threads, nor do the notes on what was skipped.
any_threads_import_the_same() { # kind, source
    local threads
    rm -rf import.*
    for threads in 1 2 5; do
        "$foretell" import "$1" "$2" -o import.$threads --verbose --threads $threads >out.$threads 2>err.$threads || return 1
        sed -i "s/import\\.$threads/SET/g" out.$threads err.$threads
        diff -r import.1 import.$threads && cmp out.1 out.$threads && cmp err.1 err.$threads || return 1
    done
}

make_import_sources() {
    mkdir -p logs made npu/tflite timm/graphs && cp "$root/tests/program/schedules.jsonl" logs/v100.jsonl &&
        { echo damaged && cat "$root/tests/program/templates.jsonl"; } >logs/k80.jsonl && cp -r "$root/examples/measurements" table &&
        "$foretell" generate perfseer -o perfseer -n 20 --quiet >/dev/null || return 1
    # Small parts of the real sets, where they are.
    local data=$root/../shared/data
    [ -d "$data" ] || return 0
    head -40 "$data/npu/summary.csv" >npu/summary.csv
    cut -d, -f1 npu/summary.csv | tail -n +2 | sort -u | sed "s|^|$data/npu/tflite/|" | xargs -I{} cp {} npu/tflite/ 2>/dev/null
    head -60 "$data/timm/train_memory_a100.csv" >timm/train_memory_a100.csv
    cp "$data"/timm/graphs/{a,b,c}*@224.onnx.gz timm/graphs/
    mkdir -p cg && cp -r "$data/cg/alexnets" "$data/cg/squeezenets" cg/
}

point "--output writes the file" output_is_written
point "a failure leaves the old file" failure_keeps_old_file
point "what did not fail is written" partial_failure_writes_the_rest
point "rights and links of the old file stay" rights_and_links_stay
point "a device is written directly" device_is_written_directly
point "output in a folder that is not there" no_such_folder
point "full disk, inspect" full_disk inspect tiny.onnx
point "full disk, list of inspect" full_disk inspect tiny.onnx net.onnx
point "full disk, fits" full_disk fits tiny.onnx -D rtx-3090
point "full disk, replay" full_disk replay tiny.onnx -D cortex-a76
point "full disk, devices" full_disk list devices
point "full disk, ops" full_disk list ops
point "full disk, help" full_disk --help
point "full disk, --output" full_disk_of_file
for format in table json csv; do
    point "inspect: any number of threads, $format" any_threads_print_the_same inspect -f $format
    point "predict: any number of threads, $format" any_threads_print_the_same predict -D adreno-640,rtx-3090 -f $format
done
point "inspect --full: any number of threads" any_threads_print_the_same inspect --full --kernels tflite-cpu
point "sources of data sets are made" make_import_sources
for kind in ansor:logs table:table/measurements.csv perfseer:perfseer npu:npu timm:timm cg:cg; do
    case $kind in
    npu:* | timm:* | cg:*) [ -d "$root/../shared/data" ] || continue ;;
    esac
    point "import ${kind%%:*}: any number of threads" any_threads_import_the_same "${kind%%:*}" "${kind#*:}"
done
point "help fits a terminal and its examples can be copied" help_can_be_copied
point "SIGINT leaves nothing half written" interrupted INT 130
point "SIGTERM leaves nothing half written" interrupted TERM 143
point "SIGINT leaves a complete document on standard output" interrupted_stdout_is_whole
point "ASCII where the locale is not UTF-8" ascii_without_utf8
point "no colour in a pipe" pipe_has_no_color
point "colour in a pipe when asked for" always_colors_a_pipe
if [ "$(id -u)" = 0 ]; then
    skip "a file without read rights" "root may read everything"
else
    point "a file without read rights" unreadable_file
fi
if python3 -c 'import pty; pty.openpty()' 2>/dev/null; then
    if nm -C "$foretell" 2>/dev/null | grep -q __asan_init; then
        skip "memory does not grow with the number of files" "sanitizers keep freed memory"
    else
        point "memory does not grow with the number of files" memory_does_not_grow
    fi
    point "colour on a terminal" terminal_has_color
    point "NO_COLOR is honoured" no_color_is_honoured
    point "tables fit the terminal" terminal_width_is_kept
    point "a progress line on a terminal" progress_on_terminal
    point "catalogs are JSON" catalogs_are_json
else
    skip "terminals and JSON of catalogs" "python3 or a pseudo-terminal is not there"
fi
if python3 -W ignore -c 'import jsonschema' 2>/dev/null; then
    point "JSON fits its schema" json_fits_schema
else
    skip "JSON fits its schema" "python3-jsonschema is not there; test_schema checks it too"
fi
finish
