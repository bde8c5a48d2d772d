# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# What recording costs, and how fast archives are replayed.

size=268435456
archive=$scratch/archive
# An archive that is there already would be continued.
# shellcheck disable=SC2016 # the inner shell expands it
afresh=(sh -c 'rm -f "$0"*; exec "$@"' "$archive")
compare "256 MiB over gopher, recorded" 5 \
    recorded "${afresh[@]}" "$smallweb" get --warc "$archive.warc" -o /dev/null \
    "$gopher_url/9/big/$size" \
    -- hashed "${afresh[@]}" "$smallweb" get --json -o "$archive" "$gopher_url/9/big/$size" \
    -- plain "${afresh[@]}" "$smallweb" get -o /dev/null "$gopher_url/9/big/$size"
bar "a large body, to --json -o FILE" "$(measured .ratio hashed)" 1.5
bar "its memory, more than without" \
    "$(jq -n "($(measured .peak_kib recorded) - $(measured .peak_kib plain)) / 1024")" 32 MiB

list_gopher
pages=("${bulk[@]}" --body none "@$scratch/gopher")
compare "10,000 pages of 1 KiB over gopher, recorded" 5 \
    plain "${afresh[@]}" "${pages[@]}" --warc "$archive.warc" \
    -- without "${afresh[@]}" "${pages[@]}"
bar "small pages, plain" "$(measured .ratio without)" 1.10
plain=$(measured .peak_kib plain)
bar "their memory, more than without" \
    "$(jq -n "($plain - $(measured .peak_kib without)) / 1024")" 12 MiB
compare "10,000 pages of 1 KiB over gopher, recorded and compressed" 5 \
    compressed "${afresh[@]}" "${pages[@]}" --warc "$archive.warc.gz" \
    -- without "${afresh[@]}" "${pages[@]}"
bar "small pages, compressed" "$(measured .ratio without)" 1.5

# Of a size each: what is the same as before would have no block of its own.
seq -f "$gopher_url/9/big/%.0f" 1000 5999 >"$scratch/pages"
for name in "$archive.warc" "$archive.warc.gz"; do
    rm -f "$name"
    "$smallweb" get -s --json --body none -j 64 --per-host 64 --warc "$name" "@$scratch/pages" \
        >/dev/null
    compare "5,000 pages, replayed from ${name#"$archive"}" 5 \
        replayed "$smallweb" get -s --json --body none -j 64 --per-host 64 --replay "$name" \
        "@$scratch/pages" \
        -- fetched "$smallweb" get -s --json --body none -j 64 --per-host 64 "@$scratch/pages"
    bar "a replay, to the fetch" "$(measured .ratio fetched)" 1
done
compare "one page of 5,000 out of .warc.gz" 5 \
    one "$smallweb" get -s --replay "$archive.warc.gz" "$gopher_url/9/big/5000"
bar "one page of 5,000" "$(measured '.milliseconds.median / 1000' one)" 1 s
