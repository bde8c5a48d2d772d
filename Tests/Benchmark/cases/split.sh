# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT

compare "header and body apart, under Nagle's algorithm" 30 \
    smallweb "$smallweb" get "$gemini_url/split" \
    -- floor "$floor-gemini" gemini 127.0.0.1 "$gemini" /split
