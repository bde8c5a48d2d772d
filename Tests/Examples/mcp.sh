#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs docs/examples/clients/smallweb_mcp.py with the client of the package mcp, in a network of its own that has a
# server at a public address.
# usage: mcp.sh SMALLWEB
# PYTHON=FILE names a Python that has mcp. What is not installed is skipped; with CI=true that is a failure.
# shellcheck disable=SC2317 # functions are called by `must` and at the end
set -u
export LC_ALL=C.UTF-8
here=$(realpath "$(dirname "$0")")
smallweb=$(realpath "${1:?usage: mcp.sh SMALLWEB}")
python=${PYTHON:-$(realpath -m "$here/../../.build/jetforce/bin/python")}
[ -x "$python" ] || python=python3
# shellcheck source-path=SCRIPTDIR source=../checks.sh
. "$here/../checks.sh"
what="the server of the Model Context Protocol"
"$python" -c 'import mcp' 2>/dev/null || lacks "$what" "$python has no mcp" || exit "$failed"
has ip "$what" || exit "$failed"
unshare -rn true 2>/dev/null || lacks "$what" "this machine has no networks of their own" || exit "$failed"

work=$(mktemp -d "${TMPDIR:-/tmp}/smallweb-mcp.XXXXXX")
clean_up() { rm -rf "$work"; }
at_exit clean_up
details() { tail -n 30 "$work/log" | cut -c1-300; }
reads() {
    HOME=$work SMALLWEB=$smallweb TMPDIR=$work PYTHONDONTWRITEBYTECODE=1 timeout -k 5 120 unshare -rn \
        sh -c 'ip link set lo up && ip address add 11.0.0.1/32 dev lo && exec "$@"' sh \
        "$python" "$here/mcp_reading.py" "$here/../../docs/examples/clients/smallweb_mcp.py" >"$work/log" 2>&1
}
must "smallweb_mcp.py reads, lists, searches and refuses" reads
