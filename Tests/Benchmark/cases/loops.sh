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
requests=("$smallweb" get -s --json -j 64 "${resolve[@]}" "@$scratch/many")
cores=$(nproc)
loops=$((cores < 4 ? 2 : 4))
# The server, too, has all processors.
[ ${#on_first[@]} -eq 0 ] || taskset -acp "$processors" "$server" >/dev/null
watched=$server
spread=yes
compare "5,000 URLs of 1 KiB over gemini, of 100 hosts, 64 at a time" 5 \
    "$loops-loops" "${requests[@]}" --loops "$loops" -- one-loop "${requests[@]}" --loops 1
watched=
spread=
[ ${#on_first[@]} -eq 0 ] || taskset -acp "${on_first[2]}" "$server" >/dev/null
both=$(measured '.user_s + .system_s + .server_s' one-loop)
saved=$(measured .ratio one-loop)
echo "  processor time with one loop: $(printf %.2f "$both") s, $(
    measured .server_s one-loop) s of it the server's, on $cores processors"
if [ "$loops" -eq 4 ]; then
    bar "four loops, to one" "$saved" 0.35
else
    echo "  four loops to one is skipped: there are $cores processors, and it takes four"
    figure "wall time" "two loops, to one" "$saved" ""
fi
perfect=$(measured '.milliseconds.median / 1000' "$loops-loops" \
    | awk -v both="$both" -v cores="$cores" '{ printf "%.3f", $1 * cores / both }')
bar "to perfect spread" "$perfect" 1.12
