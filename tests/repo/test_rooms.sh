#!/bin/bash
# Rooms (folders of src/, and their sub-folders) include only the headers that the table below allows.
# A change of this table is a change of the architecture: ARCHITECTURE.md draws the same arrows.
set -u
. tests/repo/tap.sh

# room -> rooms whose headers it may include, besides its own and the public ones
declare -A may=(
    [base]=''
    [graph]='base'
    [read]='base graph'
    [cost]='base graph'
    [report]='base graph cost'
    [device]='base'
    [parallel]='base graph cost device'
    [training]='base graph cost'
    [serving]='base graph cost'
    [nn]='base'
    [program]='base graph read'
    [trace]='base report'
    [data]='base graph read program trace'
    [npu]='base graph'
    [generate]='base report'
    [measure]='base graph report'
    [predictor]='base graph cost device nn data npu program'
    [forecast]='base graph cost device nn data predictor report training serving'
    [replay]='base graph read cost device predictor report forecast'
    [learn]='base graph cost device nn data predictor report'
    [command]='base'
)

# Sub-folder of a room -> sub-folders of the same room that it may include besides its own; '.' is the room's own folder.
declare -A may_inside=(
    [nn/math]=''
    [nn/tree]=''
    [nn/.]='math'
    [read/onnx]='.'
    [read/tflite]='.'
    [read/tensorflow]='.'
    [read/ncnn]='.'
    [read/language]='.'
    [read/pickle]=''
    [data/kernels]='.'
    [data/.]='kernels'
    [read/.]='onnx tflite tensorflow ncnn language pickle'
    [predictor/core]=''
    [predictor/baseline]='core'
    [predictor/kernel]='core'
    [predictor/torch]='core'
    [predictor/gpu]='core'
    [predictor/memory]='core'
    [predictor/npu]='core'
    [predictor/utilisation]='core torch'
    [predictor/gnn]='core'
    [predictor/peers]='core gnn'
    [predictor/program]='core gnn baseline'
    [predictor/.]='core baseline kernel torch gpu memory npu utilisation gnn peers program'
    [learn/score]=''
    [learn/train]='score'
    [learn/evaluate]='score'
    [learn/search]='score train'
    [learn/adapt]='score evaluate'
    [learn/sample]='score adapt'
)

# Of the rooms with sub-folders, the sub-folders that other rooms may include.
declare -A open_to_others=(
    [nn]='. math tree'
    [read]='. pickle'
    [data]='.'
    [predictor]='core'
    [learn]=''
)

includes_of() { # file -> the first folder of each quoted include
    sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$1"
}

# Prints the include of `file` (in `room`, sub-folder `sub`) that is not allowed, and fails.
include_is_allowed() { # file room sub path
    local file=$1 room=$2 sub=$3 path=$4 target=${4%%/*} inside
    case $path in
    *.pb-c.h) [ "$room" = read ] || { echo "$file includes $path, which is for readers" && return 1; }; return 0 ;;
    */*) ;;
    *) [ -e "$(dirname "$file")/$path" ] || { echo "$file includes $path: write the room it is in" && return 1; }; return 0 ;;
    esac
    [[ " ${may[$room]} $room foretell " == *" $target "* ]] || { echo "$file includes $path" && return 1; }
    [ -n "${open_to_others[$target]+divided}" ] || return 0
    inside=${path#*/}
    case $inside in */*) inside=${inside%%/*} ;; *) inside=. ;; esac
    if [ "$target" = "$room" ]; then
        [[ " ${may_inside[$room/$sub]} $sub " == *" $inside "* ]] ||
            { echo "$file includes $path: $room/$sub may not include $room/$inside" && return 1; }
    else
        [[ " ${open_to_others[$target]} " == *" $inside "* ]] ||
            { echo "$file includes $path: other rooms may include $target/{${open_to_others[$target]}} alone" && return 1; }
    fi
}

# Checks every include of the files in src/ROOM (sub '.') or src/ROOM/SUB.
room_is_clean() { # room sub
    local room=$1 sub=$2 file path bad=0
    for file in src/"$room/$sub"/*.[ch]; do
        [ -e "$file" ] || continue
        while read -r path; do
            include_is_allowed "$file" "$room" "$sub" "$path" || bad=1
        done < <(includes_of "$file")
    done
    return $bad
}

# About forty files are what a reader can survey.
folder_is_small() { # folder
    local count
    count=$(find "$1" -maxdepth 1 -name '*.[ch]' | wc -l)
    [ "$count" -le 45 ] || { echo "$1 has $count files" && return 1; }
}

only_public() { # folder
    local file path bad=0
    for file in "$1"/*.[ch]; do
        [ -e "$file" ] || continue
        while read -r path; do
            [[ $path == foretell/* || -e $1/$path ]] || { echo "$file includes $path" && bad=1; }
        done < <(includes_of "$file")
    done
    return $bad
}

public_headers_stand_alone() {
    local header
    for header in include/foretell/*.h; do
        echo "#include \"${header#include/}\"" |
            ${COMPILE:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only -x c - || return 1
    done
}

# ARCHITECTURE.md lists the same rooms with the same permissions, and names every sub-folder.
architecture_agrees() {
    local room row sub bad=0
    for room in "${!may[@]}"; do
        row=$(sed -n "s/^| \`src\/$room\/\` |.*| *\([a-z, ]*\)|\$/\1/p" ARCHITECTURE.md)
        [ "$(tr -d ',' <<<"$row" | xargs)" = "${may[$room]}" ] ||
            { echo "ARCHITECTURE.md: src/$room may include '$row', this script '${may[$room]}'" && bad=1; }
    done
    for sub in "${!may_inside[@]}"; do
        [ "${sub#*/}" = . ] || sed -n "/^${sub%%/*}\/ /,/^\$/p" ARCHITECTURE.md | grep -q -w "${sub#*/}" ||
            { echo "ARCHITECTURE.md does not draw src/$sub" && bad=1; }
    done
    return $bad
}

for folder in src/*/; do
    room=$(basename "$folder")
    if [ -z "${may[$room]+known}" ]; then
        point "src/$room is a room of the plan (tests/repo/test_rooms.sh)" false
        continue
    fi
    point "src/$room includes only what it may" room_is_clean "$room" .
    point "src/$room is small enough to survey" folder_is_small "src/$room"
    for sub in src/"$room"/*/; do
        [ -e "$sub" ] || continue
        sub=$(basename "$sub")
        if [ -z "${may_inside[$room/$sub]+known}" ]; then
            point "src/$room/$sub is a sub-folder of the plan (tests/repo/test_rooms.sh)" false
        else
            point "src/$room/$sub includes only what it may" room_is_clean "$room" "$sub"
            point "src/$room/$sub is small enough to survey" folder_is_small "src/$room/$sub"
        fi
    done
done
point "ARCHITECTURE.md has the same table" architecture_agrees
point "cli includes only public headers" only_public cli
point "serve includes only public headers" only_public serve
point "examples include only public headers" only_public examples
point "public headers include only public headers" only_public include/foretell
point "each public header compiles on its own" public_headers_stand_alone
finish
