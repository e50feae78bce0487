#!/bin/bash
# Pages: links and their anchors lead somewhere, every page of docs/ is in its index, statuses and limits are documented with the values
# that the headers give them.
set -u
. tests/repo/tap.sh

# The anchors of a page: its headings in lower case, without punctuation, with hyphens for spaces.
anchors_of() { # file
    sed -n '/^```/,/^```/d; s/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'
}

links_lead_somewhere() { # file
    local link target bad=0
    while read -r link; do
        target=${link%%#*}
        case $target in
        http://* | https://*) continue ;;
        '') target=$1 ;;
        *) target=$(dirname "$1")/$target ;;
        esac
        [ -e "$target" ] || { echo "$1 links to $link" && bad=1; }
        case $link in
        *.md'#'* | '#'*) anchors_of "$target" | grep -qx -e "${link#*#}" || { echo "$1 links to $link: no such heading" && bad=1; } ;;
        esac
    done < <(grep -o ']([^) ]*)' "$1" | sed 's/^](//; s/)$//')
    return "$bad"
}

pages_are_indexed() {
    local page bad=0
    for page in docs/*.md docs/*/*.md; do
        [ "$page" = docs/README.md ] || [ ! -e "$page" ] || grep -q "(${page#docs/})" docs/README.md ||
            { echo "$page is not in docs/README.md" && bad=1; }
    done
    return "$bad"
}

statuses_are_documented() {
    local name value bad=0
    while read -r name value; do
        grep -q "^| $value | \`$name\` |" docs/exit-codes.md || { echo "$name $value" && bad=1; }
    done < <(sed -n 's/^ *X(\(FT_[A-Z]*\(_[A-Z]*\)*\), \([0-9]*\), .*/\1 \3/p' include/foretell/status.h)
    return "$bad"
}

limits_are_documented() {
    local name bad=0
    for name in $(sed -n 's/^#define \(FT_\(FOLD_\)\?MAX_[A-Z_]*\).*/\1/p' include/foretell/graph.h); do
        grep -q "^| \`$name\` |" docs/limits.md || { echo "$name" && bad=1; }
    done
    return "$bad"
}

# Comments point at pages that exist.
named_pages_exist() {
    local page bad=0
    for page in $(cat src/*/*.[ch] src/*/*/*.[ch] include/foretell/*.h cli/*.[ch] serve/*.[ch] bench/*.c rules/*.json | grep -o 'docs/[a-z0-9/_-]*\.md' | sort -u); do
        [ -e "$page" ] || { echo "$page is named and absent" && bad=1; }
    done
    return "$bad"
}

# The walks of ARCHITECTURE.md, tables of file and calls: each call is a function of its file. Other files that it names exist.
architecture_names_code() {
    local file calls call name bad=0
    while IFS='|' read -r _ file calls _; do
        file=$(tr -d '` ' <<<"$file")
        [ -e "$file" ] || { echo "$file does not exist" && bad=1; }
        for call in $(tr -d '`,' <<<"$calls"); do
            grep -q -E "^[a-z].*[ *]$call\(" "$file" || { echo "$file does not define $call" && bad=1; }
        done
    done < <(grep -E '^\| `(src|cli)/[a-z0-9_/]*\.c` \|' ARCHITECTURE.md)
    for name in $(grep -o '`[a-z][a-z0-9_/]*\.[ch]`' ARCHITECTURE.md | tr -d '`' | sort -u); do
        [ -n "$(find src cli serve include tests bench -path "*/$name" -print -quit)" ] || [ -e "$name" ] || { echo "$name does not exist" && bad=1; }
    done
    return "$bad"
}

# A path of the author's machine means nothing to a reader.
paths_are_relative() {
    ! git ls-files 2>/dev/null | grep -v -E '^(LICENSE|fuzz/corpus/)' | xargs grep -n -I -E '(^|[^a-z])/(root|home|work)/' --
}

for page in ./*.md docs/*.md docs/*/*.md; do
    [ -e "$page" ] || continue
    point "links of $page lead somewhere" links_lead_somewhere "$page"
done
point "every page of docs is in its index" pages_are_indexed
point "every status is in docs/exit-codes.md" statuses_are_documented
point "every limit is in docs/limits.md" limits_are_documented
point "pages that comments name are there" named_pages_exist
point "ARCHITECTURE.md names files and functions that exist" architecture_names_code
point "no file names a path of this machine" paths_are_relative
finish
