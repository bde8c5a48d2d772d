# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# The manual as a page of 5 MB, fetched and laid out as text. Other browsers are skipped where they
# are not installed.

start_nginx || return 0
if ! command -v mandoc >/dev/null; then
    echo "html is skipped: mandoc is not installed"
    return 0
fi
for manual in "$here/../../man"/*.[157]; do
    mandoc -T html -O fragment "$manual"
done >"$scratch/manual"
{
    echo '<!DOCTYPE html><html><head><meta charset=utf-8><title>Manual</title></head><body>'
    for ((bytes = 0; bytes < 5000000; bytes += $(stat -c %s "$scratch/manual"))); do
        cat "$scratch/manual"
    done
    echo '</body></html>'
} >"$scratch/nginx/manual.html"

others=()
if command -v lynx >/dev/null; then
    others+=(-- lynx lynx -dump "$http_url/manual.html")
fi
if command -v w3m >/dev/null; then others+=(-- w3m w3m -dump "$http_url/manual.html"); fi
compare "5 MB of HTML as text" 15 smallweb "$smallweb" get --render text "$http_url/manual.html" \
    ${others[@]+"${others[@]}"}
for ((at = 1; at < ${#others[@]}; at += 5)); do
    bar "to ${others[at]}" "$(measured .ratio "${others[at]}")" 0.35
done
