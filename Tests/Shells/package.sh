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
failed=0

must() {
    if "$@"; then echo "ok - $*"; else
        echo "not ok - $*"
        failed=1
    fi
}

package=$("$root/.ci/deb" "$smallweb" "$work/one" 2>"$work/log") || cat "$work/log"
again=$("$root/.ci/deb" "$smallweb" "$work/two" 2>/dev/null)
must cmp "$package" "$again"

if command -v lintian >/dev/null; then
    complaints=$(lintian --fail-on none "$package" 2>/dev/null | grep '^E:')
    must test -z "$complaints"
    printf '%s' "$complaints"
else
    echo "skipped - lintian is not installed"
    [ "${CI:-}" != true ] || failed=1
fi

# The package has what `make install` installs, manual pages compressed, and its documentation.
make -s -C "$root" install-files BIN="$smallweb" DESTDIR="$work/stage" PREFIX=/usr
dpkg -x "$package" "$work/x"
(cd "$work/stage" && find . -type f) | sed 's|\(/man[157]/.*\)$|\1.gz|' | sort >"$work/installed"
(cd "$work/x" && find . -type f -not -path './usr/share/doc/*') | sort >"$work/packed"
must diff "$work/installed" "$work/packed"
must test -z "$(dpkg --contents "$package" | grep -v ' root/root ')"
must test "$("$work/x/usr/bin/smallweb" --version)" = "$("$smallweb" --version)"
must diff -r "$work/x/usr/share/smallweb/schema" "$root/docs/schema"
for file in copyright changelog.Debian.gz; do must test -f "$work/x/usr/share/doc/smallweb/$file"; done

# The sums are of all files, and right.
dpkg -e "$package" "$work/control"
must test "$(wc -l <"$work/control/md5sums")" -eq "$(find "$work/x" -type f | wc -l)"
must env -C "$work/x" md5sum --quiet -c "$work/control/md5sums"
depends=$(dpkg -f "$package" Depends)
for library in libc6 libssl3t64 libssl3 libcurl4t64 libcurl4 zlib1g; do
    case $depends in *"$library"*) ;; *)
        echo "not ok - no $library among: $depends"
        failed=1
        ;;
    esac
done
exit "$failed"
