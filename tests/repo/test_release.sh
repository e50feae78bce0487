#!/bin/bash
# Releases: one version everywhere, every file that is installed is in a Debian package, and a tarball has what it needs.
set -u
. tests/repo/tap.sh
version=$(sed -n 's/^#define FT_VERSION_M[AI][JN]OR *//p; s/^#define FT_VERSION_PATCH *//p' include/foretell/foretell.h | paste -sd.)

changelog_has_version() { [ "$(grep -m1 -o '^## [0-9.]*' CHANGELOG.md)" = "## $version" ]; }
debian_has_version() { [ "$(head -n 1 debian/changelog | grep -o '([^)]*)')" = "($version)" ]; }

# The soname is that of the package of the library.
soname_is_packaged() { grep -q "^Package: libforetell${version%%.*}$" debian/control; }

# Each package has a list of files, and each list a package; python3-foretell has the modules.
packages_have_files() {
    local package bad=0
    for package in $(sed -n 's/^Package: //p' debian/control); do
        [ -s "debian/$package.install" ] || { echo "debian/$package.install is missing" && bad=1; }
    done
    for package in debian/*.install; do
        package=${package#debian/}
        grep -q "^Package: ${package%.install}$" debian/control || { echo "$package has no package" && bad=1; }
    done
    return "$bad"
}

# The folders below which `make install` puts files are in a list.
installed_files_are_packaged() {
    local folder bad=0
    for folder in usr/bin usr/include usr/share/man usr/share/foretell usr/share/doc/foretell \
        usr/share/bash-completion usr/share/zsh usr/share/fish 'usr/lib/\*/pkgconfig' lib/systemd; do
        grep -q "^$folder" debian/*.install || { echo "$folder is in no package" && bad=1; }
    done
    return "$bad"
}

# What a tarball has to build from: all that git knows, and a Makefile that does not call git when it builds.
builds_without_git() { ! sed -n '/^all:/,/^# --- Testing/p' Makefile | grep -v '^#' | grep -n '\bgit\b'; }

point "CHANGELOG.md begins with version $version" changelog_has_version
point "debian/changelog begins with it" debian_has_version
point "the soname is that of the package" soname_is_packaged
point "packages have files" packages_have_files
point "what is installed is packaged" installed_files_are_packaged
point "building does not call git" builds_without_git
finish
