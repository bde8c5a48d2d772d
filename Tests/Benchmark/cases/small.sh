# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT

compare "1 KiB over gopher" 30 smallweb "$smallweb" get "$gopher_url/0/1k" \
    -- curl curl -s "$gopher_url/0/1k" \
    -- floor "$floor-gopher" gopher 127.0.0.1 "$gopher" /1k
compare "1 KiB over gemini" 30 smallweb "$smallweb" get "$gemini_url/1k" \
    -- floor "$floor-gemini" gemini 127.0.0.1 "$gemini" /1k
