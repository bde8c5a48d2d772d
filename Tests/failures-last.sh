#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# failures-last.sh COMMAND...: runs the tests, and repeats at the end what failed. Of a long output,
# the end is what is kept.
set -uo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ "$status" -ne 0 ]; then
    echo "Failed:"
    grep -aF '✘' "$log" | cut -c1-500 | head -50
fi
exit "$status"
