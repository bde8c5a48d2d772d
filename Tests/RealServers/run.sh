#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the binary as a user would: against real servers, on loopback only.
# usage: run.sh SMALLWEB PART…
# A part is a file beside it, such as gophernicus; the Makefile has all of them. `reading`, `progress`
# and `trust` need `tls streams files terminal` before them. JETFORCE=FILE names jetforce's
# executable. With CI=true a missing server is a failure.
set -u
export LC_ALL=C.UTF-8

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 2 ] || [ ! -x "$1" ]; then
    echo "usage: run.sh SMALLWEB PART…" >&2
    exit 2
fi
smallweb=$(realpath "$1")
shift
if [ -z "${JETFORCE:-}" ] && [ -x "$here/../../.build/jetforce/bin/jetforce" ]; then
    JETFORCE=$(realpath "$here/../../.build/jetforce")/bin/jetforce
fi
JETFORCE=${JETFORCE:-jetforce}
SMOLSERVE=${SMOLSERVE:-$(dirname "$JETFORCE")/smolserve}

work=$(mktemp -d "${TMPDIR:-/tmp}/smallweb-real.XXXXXX")
# gophernicus serves only what everybody may read.
chmod 755 "$work"
umask 022
# Where Debian puts servers.
PATH=$PATH:/usr/sbin
out=$work/out err=$work/err
: >"$out"
: >"$err"
export HOME=$work/home SMALLWEB_KNOWN_HOSTS=$work/known_hosts
export XDG_CONFIG_HOME=$HOME/config XDG_DATA_HOME=$HOME/data
export XDG_STATE_HOME=$HOME/state XDG_CACHE_HOME=$HOME/cache
unset NO_COLOR CLICOLOR_FORCE SSLKEYLOGFILE
mkdir -p "$HOME"
cd "$work" || exit 2

# shellcheck source-path=SCRIPTDIR source=harness.sh
. "$here/harness.sh"
at_exit clean_up
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Copies, because smallweb refuses programs that others can change, as those of the tree may be.
plugins=$work/plugins
mkdir "$plugins"
cp -r "$here/../../Plugins/Guppy" "$here/../../docs/examples/plugins/"* "$plugins"

mkdir "$work/files"
# A large body, which `make_big` makes: BIG_MIB=256 for one that is larger than all buffers together.
big=$work/big.bin big_mib=${BIG_MIB:-32}
printf 'Grüße aus dem Garten\nzweite Zeile\n' >"$work/files/text.txt"
printf 'one\n.two\n..three\n...four\n.\nlast\n' >"$work/files/dots.txt"
printf 'no line end' >"$work/files/unended.txt"
mkdir "$work/files/a b"
printf 'spaced\n' >"$work/files/a b/c d.txt"
printf 'umlauts\n' >"$work/files/grün ☃.txt"

for part in "$@"; do
    # shellcheck source=/dev/null
    . "$here/$part.sh"
done
finish_check

printf '%s passed, %s failed' "$passed" "$failed"
if [ "$skipped" -gt 0 ]; then printf ', %s skipped' "$skipped"; fi
printf '\n'
[ "$failed" -eq 0 ]
