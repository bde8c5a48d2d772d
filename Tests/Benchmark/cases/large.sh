# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT

size=268435456
compare "256 MiB over gopher" 31 smallweb "$smallweb" get "$gopher_url/9/big/$size" \
    -- curl curl -q -s "$gopher_url/9/big/$size" \
    -- floor "$floor-gopher" gopher 127.0.0.1 "$gopher" "/big/$size"
compare "256 MiB over gemini" 11 smallweb "$smallweb" get "$gemini_url/big/$size" \
    -- floor "$floor-gemini" gemini 127.0.0.1 "$gemini" "/big/$size"
start_nginx || return 0
compare "256 MiB over http" 21 smallweb "$smallweb" get "$http_url/256M" \
    -- curl curl -q -s "$http_url/256M"
