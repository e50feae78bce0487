#!/bin/bash
# scripts/setup on machines that lack something: a PATH of fakes stands for the machine, and an apt-get that writes
# down what it was asked for stands for Debian's.
set -u
. tests/repo/tap.sh
work=$PWD/${BUILD:-build}/setup-test
rm -rf "$work"

# A machine with a shell and no compiler tools: $work/NAME/bin is all that is in the PATH.
machine() { # name, fakes that exit 0...
    bin=$work/$1/bin log=$work/$1/apt.log
    mkdir -p "$bin"
    : >"$log"
    shift
    local tool
    for tool in sh env id cat rm; do ln -s "$(command -v $tool)" "$bin/$tool"; done
    for tool; do fake "$tool" 'exit 0'; done
}

fake() { # name, body
    printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

# Installing makes the commands that the packages are known for.
fake_apt() {
    fake apt-get "echo \"\$@\" >>'$log'
for word; do
    case \$word in
    clang | clang-tidy | clang-format | cppcheck) printf '#!/bin/sh\n' >'$bin/'\$word; /bin/chmod +x '$bin/'\$word ;;
    esac
done"
}

run_setup() { env -i PATH="$bin" "$PWD/scripts/setup" "$@"; }

nothing_missing() { # no apt-get in the PATH at all: it must not be needed
    machine complete clang clang-tidy clang-format cppcheck
    [ -z "$(run_setup check 2>&1)" ]
}

installs_what_is_missing() {
    machine partly clang clang-format cppcheck
    fake_apt
    local said
    said=$(run_setup check 2>&1) || return 1
    echo "$said"
    cat "$log"
    [ "$said" = 'setup: installing clang-tidy' ] && grep -q 'install clang-tidy$' "$log" && grep -q update "$log"
}

uses_sudo() {
    machine user clang clang-tidy clang-format
    fake_apt
    rm "$bin/id"
    fake id 'echo 1000'
    fake sudo "echo sudo >>'$log'; exec \"\$@\""
    run_setup check && cat "$log" && grep -q sudo "$log" && grep -q 'install cppcheck$' "$log"
}

refuses_without_rights() {
    machine nobody clang clang-tidy clang-format
    fake_apt
    rm "$bin/id"
    fake id 'echo 1000'
    local said
    said=$(run_setup check 2>&1) && return 1
    echo "$said"
    [[ $said == *cppcheck* ]] && [ ! -s "$log" ]
}

names_packages_without_apt() {
    machine other clang
    local said
    said=$(run_setup check 2>&1) && return 1
    echo "$said"
    [[ $said == *clang-tidy*clang-format*cppcheck* ]]
}

notices_a_failed_install() { # apt-get that succeeds and does nothing
    machine liar clang clang-tidy clang-format
    fake apt-get 'exit 0'
    local said
    said=$(run_setup check 2>&1) && return 1
    [[ $said == *'still not usable: cppcheck'* ]]
}

lists_build_packages() {
    machine bare
    fake apt-get "echo \"\$@\" >>'$log'; exit 100"
    run_setup build
    cat "$log"
    local package
    for package in gcc pkg-config protobuf-c-compiler libprotobuf-c-dev libjansson-dev zlib1g-dev; do
        grep -q -w -- "$package" "$log" || return 1
    done
}

point "nothing is installed when nothing is missing" nothing_missing
point "what is missing is installed and named" installs_what_is_missing
point "a user who is not root goes through sudo" uses_sudo
point "without root and sudo it says what to ask for" refuses_without_rights
point "without apt-get it names the packages" names_packages_without_apt
point "an install that changed nothing is noticed" notices_a_failed_install
point "a bare machine gets all that the build needs" lists_build_packages
finish
