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
python=${PYTHON:-$(realpath -ms "$here/../../.build/jetforce/bin/python")}
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
# Two machines in a network of their own: an address of this one is not public.
# shellcheck disable=SC2016 # the inner shell expands it
reads() {
    HOME=$work SMALLWEB=$smallweb TMPDIR=$work PYTHONDONTWRITEBYTECODE=1 timeout -k 5 120 \
        unshare -rn --mount --pid --fork --kill-child --mount-proc bash -c '
            set -e
            unshare -n "$1" "$2" --serve &
            other=$!
            until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
            ip link set lo up
            ip link add near type veth peer name far netns "$other"
            ip address add 11.0.0.2/30 dev near
            ip link set near up
            nsenter -t "$other" -n sh -c "ip address add 11.0.0.1/30 dev far && ip link set far up"
            until (exec 3<>/dev/tcp/11.0.0.1/80) 2>/dev/null; do sleep 0.01; done
            exec "$1" "$2" "$3"
        ' bash "$python" "$here/mcp_reading.py" "$here/../../docs/examples/clients/smallweb_mcp.py" \
        >"$work/log" 2>&1
}
must "smallweb_mcp.py reads, lists, searches and refuses" reads
