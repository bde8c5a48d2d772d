# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# What a plugin costs that is a program, beside a built-in one at the same server, the bare start of
# the program, and its start in namespaces.
home=$scratch/data
folder=$home/smallweb/plugins/bench
mkdir -p "$folder"
cat >"$folder/plugin.json" <<END
{ "v": 1, "name": "bench", "version": "1", "summary": "least", "program": ["./helper"],
  "schemes": [ { "name": "bench", "port": 70, "transport": "tcp", "mime": "text/plain" } ] }
END
cp "$scratch/bin/helper" "$folder/helper"
chmod -R go-w "$home"
program=(env "XDG_DATA_HOME=$home" "$smallweb" get)
for number in 1 2 3; do
    compare "1 KiB through a program, turn $number of 3" 100 \
        program "${program[@]}" "bench://127.0.0.1:$gopher/1k" \
        -- built-in env "XDG_DATA_HOME=$home" "$smallweb" get "$gopher_url/0/1k" \
        -- bare "$folder/helper"
done | tee "$scratch/programs"
least=$(awk '$1 ~ /^(program|built-in|bare)$/ { median[$1] = $3 }
    $1 == "bare" {
        cost = median["program"] - median["built-in"] - median["bare"]
        if (least == "" || cost < least) least = cost
    }
    END { printf "%.2f", least }' "$scratch/programs")
echo "  more than the bare start: $least ms, best of three medians"
figure "a program, more than its bare start" program "$least" ms
for number in $(seq 1000); do
    echo "bench://127.0.0.1:$gopher/1k" >&4
    echo "$gopher_url/0/1k" >&5
done 4>"$scratch/programs" 5>"$scratch/built-in"
spread=yes
compare "1,000 URLs of 1 KiB through a program, 16 at a time, as records" 5 \
    program "${program[@]}" -s --json -j 16 --per-host 16 "@$scratch/programs" \
    -- built-in "$smallweb" get -s --json -j 16 --per-host 16 "@$scratch/built-in" \
    -- bare "$scratch/bin/spawn" 1000 16 bare "$folder/helper" \
    -- contained "$scratch/bin/spawn" 1000 16 contained "$folder/helper"
spread=
