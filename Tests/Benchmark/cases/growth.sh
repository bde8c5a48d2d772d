# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# Time and memory by the size of what is read: from ten or a thousand to a million.

# grow TITLE ROUNDS SIZES COMMAND…: with the size in place of each %.
grow() {
    local words=() size
    for size in $3; do words+=(-- "$size" "${@:4}"); done
    local index
    for index in "${!words[@]}"; do
        if [ "${words[index]}" = -- ]; then size=${words[index + 1]}; fi
        words[index]=${words[index]//%/$size}
    done
    compare "$1" "$2" "${words[@]:1}"
}
thousands="1000 10000 100000 1000000"

for size in 10 1000 100000 1000000; do
    strangers "$size" >"$scratch/pins-$size"
    # Before the clock runs: what is made of a store once.
    "$smallweb" get --known-hosts "$scratch/pins-$size" "$gemini_url/1k" >/dev/null
done
grow "a fetch over gemini, by pins in the store" 15 "10 1000 100000 1000000" \
    "$smallweb" get --known-hosts "$scratch/pins-%" "$gemini_url/1k"
more() { jq -n "$(measured "$1" 1000000) - $(measured "$1" 10)"; }
bar "a million pins, time" "$(more .milliseconds.median)" 50 ms
bar "a million pins, memory" "$(more '.peak_kib / 1024')" 8 MiB
rm "$scratch"/pins-*

# The URL of the run is done, too: nothing is fetched.
"$smallweb" get -s --ledger "$scratch/one" "$gopher_url/0/1k" >/dev/null
record=$(cat "$scratch/one")
for size in $thousands; do
    {
        seq -f "${record/\/0\/1k/\/0\/1k-%.0f}" "$size"
        echo "$record"
    } >"$scratch/ledger-$size"
done
grow "a run of which all is done, by records in the ledger" 5 "$thousands" \
    "$smallweb" get -s --ledger "$scratch/ledger-%" "$gopher_url/0/1k"
rm "$scratch"/ledger-*

# No server bears a million requests: an unknown scheme measures the way in and out.
for size in $thousands; do seq -f "nosuch://x/%.0f" "$size" >"$scratch/list-$size"; done
grow "a list of an unknown scheme, by lines" 3 "$thousands" \
    "${bulk[@]}" --body none --exit-status run "@$scratch/list-%"

start_git_daemon
id=$(git -C "$git_root/small.git" rev-parse main)
for size in $thousands; do
    cp -r "$git_root/small.git" "$git_root/$size.git"
    {
        echo "# pack-refs with: peeled fully-peeled sorted"
        seq -f "$id refs/heads/branch-%.0f" 1000001 $((1000000 + size))
        echo "$id refs/heads/main"
    } >"$git_root/$size.git/packed-refs"
done
grow "smallweb refs over git://, by references" 3 "$thousands" "$smallweb" refs "$git_url/%.git"
grow "git ls-remote over git://, by references" 3 "$thousands" \
    git -c protocol.version=0 ls-remote "$git_url/%.git"
