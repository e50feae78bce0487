#!/bin/bash
# JSON values are built and parsed through src/base/json.h alone: its functions report exhausted memory, and the compiler refuses a call whose
# result is unused. jansson's own functions return -1 that is easily overlooked, and its parser and copies drop bytes and keys.
set -u
. tests/repo/tap.sh

raw='\bjson_(object_(set|update|del)|array_(set|append|insert|extend)|load[a-z]*|copy|deep_copy|unpack)[a-z_]*\('
allowed='^src/base/json(_parse)?\.c:|json_object_del\([a-z]+, "family"\) != 0'

checked_only() {
    local found
    found=$(grep -r -n -E --include='*.[ch]' -e "$raw" src cli | grep -v -E -e "$allowed")
    [ -z "$found" ] || { echo "use json_put, json_add, json_with, json_list_with, json_merge, json_clone or json_parse:" && echo "$found" && return 1; }
}

# A document that lacks a key must not compile.
refused() { # statement
    local file=$TAP_SCRATCH/unused.c
    printf '#include "base/json.h"\nvoid f(json_t *o);\nvoid f(json_t *o) {\n    %s;\n}\n' "$1" >"$file"
    ! ${COMPILE:-gcc} -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -Wall -Werror -c "$file" -o "$TAP_SCRATCH/unused.o" 2>"$TAP_SCRATCH/log" &&
        grep -q 'warn_unused_result\|unused-result' "$TAP_SCRATCH/log"
}

TAP_SCRATCH=$(mktemp -d)
trap 'rm -rf "$TAP_SCRATCH"' EXIT
point "jansson's unchecked functions are called in base/json*.c only" checked_only
for call in 'json_put(o, "a", json_null())' 'json_add(o, json_null())' 'json_merge(o, o)' 'json_with(o, "a", json_null())' \
    'json_list_with(o, json_null())' 'json_clone(o)'; do
    point "an unused result of ${call%%(*} does not compile" refused "$call"
done
finish
