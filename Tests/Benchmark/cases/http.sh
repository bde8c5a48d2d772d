# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT

start_nginx || return 0
compare "1 KiB over http" 30 smallweb "$smallweb" get "$http_url/1k" \
    -- curl curl -q -s "$http_url/1k"
compare "256 MiB over http" 21 smallweb "$smallweb" get "$http_url/256M" \
    -- curl curl -q -s "$http_url/256M"
urls=()
for number in $(seq 2000); do
    urls+=("$http_url/1k?$number")
    printf 'url="%s"\noutput=/dev/null\n' "$http_url/1k?$number"
done >"$scratch/curl.conf"
compare "2,000 URLs of 1 KiB over http, 32 at a time" 5 \
    smallweb "$smallweb" get -s -j 32 --per-host 32 "${urls[@]}" \
    -- curl curl -q -s --no-progress-meter --parallel --parallel-max 32 \
    --parallel-immediate -K "$scratch/curl.conf"
