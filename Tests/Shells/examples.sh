#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs every example of the manual and of README.md, in a network of its own.
# usage: examples.sh SMALLWEB
set -u
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
smallweb=$(realpath "${1:?usage: examples.sh SMALLWEB}")
# shellcheck source-path=SCRIPTDIR source=../checks.sh
. "$here/../checks.sh"

examples='the examples of the manual and of README.md'
for program in python3 git openssl unshare mount; do has "$program" "$examples" || exit "$failed"; done
# With processes of its own, too: git daemon's child would outlive it, and keep our output open.
own=(unshare --map-root-user --net --mount --pid --fork --kill-child)
"${own[@]}" true 2>/dev/null || { lacks "$examples" "this machine gives no namespaces"; exit "$failed"; }
exec "${own[@]}" python3 "$here/examples.py" "$smallweb" "$here/../.."
