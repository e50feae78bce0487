#!/bin/bash
# Rooms include only what the plan of the house allows: base < graph < read and cost < report < cli,
# and beside report: device, nn, program (behind read), data < predictor < learn; the command and
# the examples see only the public headers.
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
    [nn]='base'
    [program]='base graph read'
    [data]='base graph read program'
    [npu]='base graph'
    [generate]='base report'
    [predictor]='base graph cost device nn data npu program'
    [forecast]='base graph cost device nn data predictor report'
    [replay]='base graph read cost device predictor report forecast'
    [learn]='base graph cost device nn data predictor report'
)

includes_of() { # file -> the first folder of each quoted include
    sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$1"
}

# Prints each include of a room's files that is not allowed, and fails when there is one.
room_is_clean() {
    local room=$1 allowed=" ${may[$1]} $1 foretell " file path bad=0
    for file in src/"$room"/*.[ch]; do
        while read -r path; do
            case $path in
            */*) [[ $allowed == *" ${path%%/*} "* ]] || { echo "$file includes $path" && bad=1; } ;;
            *.pb-c.h) [ "$room" = read ] || { echo "$file includes $path, which is for readers" && bad=1; } ;;
            *) [ -e "src/$room/$path" ] || { echo "$file includes $path: say which room it is in" && bad=1; } ;;
            esac
        done < <(includes_of "$file")
    done
    return $bad
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

for folder in src/*/; do
    room=$(basename "$folder")
    if [ -n "${may[$room]+known}" ]; then
        point "src/$room includes only what it may" room_is_clean "$room"
    else
        point "src/$room is a room of the plan (tests/repo/test_rooms.sh)" false
    fi
done
point "cli includes only public headers" only_public cli
point "examples include only public headers" only_public examples
point "public headers include only public headers" only_public include/foretell
point "each public header compiles on its own" public_headers_stand_alone
finish
