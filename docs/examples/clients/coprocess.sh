#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One smallweb for the whole script, asked one URL at a time: `ask URL` sets $record.
# usage: coprocess.sh URL…
coproc web { smallweb get --json -s -; }
to=${web[1]} from=${web[0]}
ask() { jq -nc --arg url "$1" '{url: $url}' >&"$to" && IFS= read -r record <&"$from"; }

for url in "$@"; do
    if ! ask "$url"; then
        echo "coprocess.sh: smallweb has ended" >&2
        exit 1
    fi
    jq -r '[.outcome, .size // "-", .url] | @tsv' <<<"$record"
done
# At the end of its input, smallweb ends.
exec {to}>&-
wait
