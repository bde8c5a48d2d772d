# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# Connections that are all open before the server answers the first, from a soft limit of 256
# descriptors.

# connections SCHEME URL MIB
connections() {
    count=1000 repeat "$2" >"$scratch/gather"
    compare "1,000 connections over $1 that are open at once" 3 \
        smallweb "$smallweb" get -s --json --body none -j 1000 --per-host 1000 "@$scratch/gather"
    bar "$1" "$(measured '.peak_kib / 1024' smallweb)" "$3" MiB
}
(
    ulimit -Sn 256
    connections gopher "$gopher_url/0/gather/1000" 50
    connections gemini "$gemini_url/gather/1000" 88
)
