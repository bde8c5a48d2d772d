# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# What one call takes, from its start to its end.

compare "1 KiB over gemini" 50 smallweb "$smallweb" get "$gemini_url/1k" \
    -- floor "$floor-gemini" gemini 127.0.0.1 "$gemini" /1k
bar "gemini to the C floor" "$(measured .ratio floor)" 1.22
compare "1 KiB over gopher" 50 smallweb "$smallweb" get "$gopher_url/0/1k" \
    -- curl curl -q -s "$gopher_url/0/1k" \
    -- floor "$floor-gopher" gopher 127.0.0.1 "$gopher" /1k \
    -- floor-swift "$floor-swift" "$gopher" /1k
bar "gopher to curl" "$(measured .ratio curl)" 0.36
bar "gopher to Swift floor" "$(measured .ratio floor-swift)" 1.08
if start_nginx; then
    compare "1 KiB over http" 50 smallweb "$smallweb" get "$http_url/1k" \
        -- curl curl -q -s "$http_url/1k"
    bar "http to curl" "$(measured .ratio curl)" 1.12
fi
start_git_daemon
compare "references of a small repository over git://" 50 \
    smallweb "$smallweb" refs "$git_url/small.git" \
    -- git-v0 git -c protocol.version=0 ls-remote "$git_url/small.git" \
    -- git-v2 git -c protocol.version=2 ls-remote "$git_url/small.git"
bar "refs to git v0" "$(measured .ratio git-v0)" 1.0
# An empty program in Swift is the least that these can take.
compare "--help" 50 smallweb "$smallweb" --help -- empty "$floor-swift"
compare "explain URL" 50 smallweb "$smallweb" explain "$gopher_url/0/1k" -- empty "$floor-swift"
compare "a TAB" 50 smallweb "$smallweb" __complete get --o -- empty "$floor-swift"
