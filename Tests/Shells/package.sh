#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The Debian package: what lintian says, what is in it, whether it runs and can be made again.
# usage: package.sh SMALLWEB
set -u
export LC_ALL=C.UTF-8
root=$(realpath "$(dirname "$0")/../..")
smallweb=$(realpath "${1:?usage: package.sh SMALLWEB}")
work=$(mktemp -d "${TMPDIR:-/tmp}/smallweb-deb.XXXXXX")
trap 'rm -rf "$work"' EXIT
# shellcheck source-path=SCRIPTDIR source=../checks.sh
. "$root/Tests/checks.sh"

package=$("$root/.ci/deb" "$smallweb" "$work/one" 2>"$work/log") || cat "$work/log"
again=$("$root/.ci/deb" "$smallweb" "$work/two" 2>/dev/null)
must "the Debian package is the same when it is made again" cmp "$package" "$again"

if has lintian "the lint of the Debian package"; then
    complaints=$(lintian --fail-on none "$package" 2>/dev/null | grep '^E:')
    same "lintian finds no error in the Debian package" '' "$complaints"
fi

# The package has what `make install` installs, manual pages compressed, and its documentation.
make -s -C "$root" install-files BIN="$smallweb" DESTDIR="$work/stage" PREFIX=/usr
dpkg -x "$package" "$work/x"
(cd "$work/stage" && find . -type f) | sed 's|\(/man[157]/.*\)$|\1.gz|' | sort >"$work/installed"
(cd "$work/x" && find . -type f -not -path './usr/share/doc/*') | sort >"$work/packed"
must "the Debian package has the files of make install-files" diff "$work/installed" "$work/packed"
same "all files of the Debian package are root's" '' \
    "$(dpkg --contents "$package" | grep -v ' root/root ')"
same "the binary of the Debian package says its version" "$("$smallweb" --version)" \
    "$("$work/x/usr/bin/smallweb" --version)"
must "the Debian package has the schemas" \
    diff -r "$work/x/usr/share/smallweb/schema" "$root/docs/schema"
for file in copyright changelog.Debian.gz; do
    must "the Debian package has its $file" test -f "$work/x/usr/share/doc/smallweb/$file"
done

# The sums are of all files, and right.
dpkg -e "$package" "$work/control"
same "the Debian package has the sum of each file" "$(find "$work/x" -type f | wc -l)" \
    "$(wc -l <"$work/control/md5sums")"
must "the sums of the Debian package are right" \
    env -C "$work/x" md5sum --quiet -c "$work/control/md5sums"
depends=$(dpkg -f "$package" Depends)
for library in libc6 libssl3t64 libssl3 libssl4 libcurl4t64 libcurl4 zlib1g; do
    must "the Debian package depends on $library" grep -qF "$library" <<<"$depends"
done
recommends=$(dpkg -f "$package" Recommends)
for name in ca-certificates libidn2-0 python3; do
    must "the Debian package recommends $name" grep -qF "$name" <<<"$recommends"
done
exit "$failed"
