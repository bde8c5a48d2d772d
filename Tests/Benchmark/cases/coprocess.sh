# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# Requests one after the other: to one smallweb that runs, and to a process each. Milliseconds of a
# thousand requests are microseconds of one.

# requests SCHEME URL [-- NAME COMMAND…]
requests() {
    compare "1,000 requests of 1 KiB over $1, one after the other" 3 \
        co-process "$scratch/bin/coprocess" 1000 "$2" "$smallweb" get -s --json --input-file - \
        -- process "$scratch/bin/spawn" 1000 1 bare "$smallweb" get "$2" "${@:3}"
    figure "a request of the co-process" "$1" "$(measured .milliseconds.median co-process)" µs
}
curl=("$scratch/bin/spawn" 1000 1 bare curl -q -s)
requests gopher "$gopher_url/0/1k" -- curl "${curl[@]}" "$gopher_url/0/1k"
requests gemini "$gemini_url/1k"
start_nginx || return 0
requests http "$http_url/1k" -- curl "${curl[@]}" "$http_url/1k"
