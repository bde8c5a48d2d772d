# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT

compare "1 KiB over gopher" 30 smallweb "$smallweb" get "$gopher_url/0/1k" \
    -- curl curl -s "$gopher_url/0/1k" \
    -- floor "$floor-gopher" gopher 127.0.0.1 "$gopher" /1k \
    -- floor-swift "$floor-swift" "$gopher" /1k
# What any program in Swift takes longer than one in C.
swift_start=$(jq -n "$(measured .milliseconds.median floor-swift) - $(measured .milliseconds.median floor)")
compare "1 KiB over gemini" 30 smallweb "$smallweb" get "$gemini_url/1k" \
    -- floor "$floor-gemini" gemini 127.0.0.1 "$gemini" /1k
floor_in_swift=$(jq -n "1 + $swift_start / $(measured .milliseconds.median floor)")
bar "1 KiB over gemini: time" "to the floor" "$(measured .ratio floor)" 1.25
figure "1 KiB over gemini: time" "the floor, if Swift started it" "$floor_in_swift" ""
printf '  the floor, if Swift started it: %.3f\n' "$floor_in_swift"
