#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs what `make dist` has made in bare Debian 12 and 13 roots, which have no toolchain, and in one
# that has OpenSSL 4 alone, against servers of this machine, and its container on Debian 13.
# usage: roots.sh DIST SMALLWEB-LOOPBACK DIRECTORY
# DIRECTORY keeps the roots, which debootstrap makes. Needs root, and Debian's mirror.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/../.."
# shellcheck disable=SC1091 # it is read by itself
. Tests/checks.sh

dist=$(realpath "${1:?usage: roots.sh DIST SMALLWEB-LOOPBACK DIRECTORY}")
loopback=$(realpath "${2:?usage: roots.sh DIST SMALLWEB-LOOPBACK DIRECTORY}")
mkdir -p "${3:?usage: roots.sh DIST SMALLWEB-LOOPBACK DIRECTORY}"
roots=$(realpath "$3")
version=$(docs/packaging/version.py show)
name=smallweb-$version-linux-$(uname -m)
if [ "$(id -u)" -ne 0 ]; then
    echo "roots.sh: chroot needs root" >&2
    exit 1
fi
if ! command -v debootstrap >/dev/null; then
    echo "roots.sh: please install debootstrap, and buildah for the container" >&2
    exit 1
fi

work=$(mktemp -d)
mkfifo "$work/stdin"
"$loopback" <"$work/stdin" >"$work/ports" &
server=$!
exec 3>"$work/stdin"
trap 'exec 3>&-; wait "$server" 2>/dev/null; rm -rf "$work"' EXIT
is_settled() { grep -q '^ready' "$work/ports" || ! kill -0 "$server"; }
eventually is_settled
kill -0 "$server"
place() { awk -v scheme="$1" '$1 == scheme { print $2 ":" $3 }' "$work/ports"; }

# in_root SUITE COMMAND…: in a root of its own, with the network of this machine and little else.
in_root() {
    local suite=$1
    shift
    # shellcheck disable=SC2016 # the inner shell expands them
    unshare --mount --pid --fork --kill-child sh -c '
        mount --bind "$0" "$0" && mount -t proc proc "$0/proc" \
            && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"
    ' "$roots/$suite" env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        DEBIAN_FRONTEND=noninteractive "$@"
}

# is SUITE WHAT TEXT COMMAND…: prints the text, among others.
is() {
    local suite=$1 what=$2 text=$3 output
    shift 3
    if output=$(in_root "$suite" "$@" 2>&1) && grep -qF -- "$text" <<<"$output"; then
        echo "ok - $suite: $what"
    else
        printf 'not ok - %s: %s\n%s\n' "$suite" "$what" "$output"
        exit 1
    fi
}

# make_root SUITE FROM: a root of its own, as debootstrap makes FROM, with the files of the release.
make_root() {
    local suite=$1 from=$2
    # A root is whole when it has been moved to its name.
    if [ ! -d "$roots/$from.clean" ]; then
        rm -rf "$roots/$from.new"
        debootstrap --variant=minbase "$from" "$roots/$from.new" http://deb.debian.org/debian
        mv "$roots/$from.new" "$roots/$from.clean"
    fi
    rm -rf "${roots:?}/$suite"
    cp -a "$roots/$from.clean" "$roots/$suite"
    cp /etc/resolv.conf "$roots/$suite/etc/resolv.conf"
    cp "$dist/$name.tar.gz" "$dist/smallweb_$version-1_$(dpkg --print-architecture).deb" "$dist/SHA256SUMS" "$roots/$suite/root"
    is "$suite" "the sums are right" "$name.tar.gz: OK" \
        sh -c 'cd && sha256sum --ignore-missing -c SHA256SUMS'
    is "$suite" "the tarball is installed" "Installed below /usr/local" \
        sh -c "cd && tar -xzf $name.tar.gz && $name/install.sh"
    is "$suite" "--version" "smallweb $version" smallweb --version
}

for suite in bookworm trixie; do
    make_root "$suite" "$suite"
    is "$suite" "a gopher menu" "/about.txt" smallweb get "gopher://$(place gopher)/"
    is "$suite" "a Spartan page" "guestbook" smallweb get "spartan://$(place spartan)/"
    is "$suite" "plugins that are programs" "guppy" smallweb plugin list
    is "$suite" "install.sh --uninstall leaves nothing" "left: 0." sh -c "/root/$name/install.sh \
        --uninstall; echo left: \$(find /usr/local -type f | wc -l)."
    is "$suite" "the Debian package is installed" "Setting up smallweb ($version-1)" \
        sh -c 'cd && apt-get update -qq && apt-get install -y --no-install-recommends ./smallweb_*.deb'
    is "$suite" "a Gemini page" "# A small capsule" smallweb get "gemini://$(place gemini)/"
    is "$suite" "a page over HTTP" "This site is" smallweb get "http://$(place http)/about"
    is "$suite" "a file of Git" "fetch it" smallweb get "git://$(place git)/demo.git//docs/guide.md?ref=v1"
    is "$suite" "a record" '"ok":true' smallweb get --json "gophers://$(place gophers)/0/about.txt"
    is "$suite" "the Debian package is removed" "Removing smallweb" apt-get remove -y smallweb
done

# OpenSSL 4 is in Debian's experimental alone. What links to the libraries that go is not run.
suite=openssl4
make_root "$suite" trixie
is "$suite" "OpenSSL 4 is installed" "Setting up libssl4" sh -c '
    echo "deb [check-valid-until=no] http://deb.debian.org/debian experimental main" >>/etc/apt/sources.list
    apt-get update -qq && apt-get install -y --no-install-recommends libssl4'
# shellcheck disable=SC2016 # the inner shell expands it
is "$suite" "OpenSSL 3 is gone" "left: libcrypto.so.4 libssl.so.4." sh -c '
    rm -f /usr/lib/*/libssl.so.3 /usr/lib/*/libcrypto.so.3 && ldconfig
    echo left: $(cd /usr/lib/*-linux-gnu && echo libcrypto.so* libssl.so*).'
is "$suite" "--version names it" "OpenSSL/4." smallweb --version
is "$suite" "a Gemini page" "# A small capsule" smallweb get "gemini://$(place gemini)/"
is "$suite" "a record of TLS" '"tls":{"version":"TLSv1.3"' \
    smallweb get --json "gophers://$(place gophers)/0/about.txt"
is "$suite" "an identity" "CN=alice" sh -c \
    "smallweb identity new alice 'gemini://$(place gemini)/' && smallweb identity show alice"
is "$suite" "a page with an identity" "# A small capsule" \
    smallweb get --identity alice "gemini://$(place gemini)/"
is "$suite" "HTTP names what is missing" "libcurl.so.4" sh -c \
    "! smallweb get 'http://$(place http)/about'"

if command -v buildah >/dev/null; then
    export BUILDAH_ISOLATION=chroot
    store=(buildah --storage-driver vfs --root "$roots/store" --runroot "$work/run")
    base=$("${store[@]}" from scratch)
    "${store[@]}" add -q "$base" "$roots/trixie.clean" / >/dev/null
    "${store[@]}" commit -q "$base" localhost/bare:13 >/dev/null
    "${store[@]}" bud -q --network host --build-arg BASE=localhost/bare:13 -t "smallweb:$version" "$dist"
    container=$("${store[@]}" from "smallweb:$version")
    output=$("${store[@]}" run --network host "$container" -- \
        smallweb get "gemini://$(place gemini)/" "http://$(place http)/about")
    grep -qF '# A small capsule' <<<"$output"
    grep -qF 'This site is' <<<"$output"
    echo "ok - the container gets a page over Gemini and one over HTTP"
    rm -rf "$roots/store"
else
    echo "skipped - buildah is not installed"
fi
