# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# What a second event loop saves. The server runs beside us and needs the same processors: the least
# that is possible is the processor time of both, spread over all of them.

resolve=()
for number in $(seq 0 99); do
    resolve+=(--resolve "h$number.test:$gemini:127.0.0.1")
    echo "gemini://h$number.test:$gemini/1k"
done >"$scratch/hosts"
awk '{ line[NR] = $0 } END { for (i = 0; i < 5000; i++) print line[i % NR + 1] }' \
    "$scratch/hosts" >"$scratch/many"
# Pins the keys.
"$smallweb" get -s --json "${resolve[@]}" "@$scratch/hosts" >/dev/null
spread=("$smallweb" get -s --json -j 64 "${resolve[@]}" "@$scratch/many")
title="5,000 URLs of 1 KiB over gemini, of 100 hosts, 64 at a time"
watched=$server
compare "$title" 5 two-loops "${spread[@]}" --loops 2 -- one-loop "${spread[@]}" --loops 1
watched=
cores=$(nproc)
both=$(measured '.user_s + .system_s + .server_s' one-loop)
saved=$(measured .ratio one-loop)
perfect=$(measured '.milliseconds.median / 1000' two-loops \
    | awk -v both="$both" -v cores="$cores" '{ printf "%.3f", $1 * cores / both }')
echo "  processor time with one loop: $(printf %.2f "$both") s, $(
    measured .server_s one-loop) s of it the server's, on $cores processors"
bar "$title: two loops" "to one loop" "$saved" 0.65
bar "$title: two loops" "to perfect spread" "$perfect" 1.12
awk -v saved="$saved" -v perfect="$perfect" 'BEGIN {
    print "  " (saved <= 0.65 || perfect <= 1.12 ? "one of them holds" : "none of them holds") }'
