# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# pygopherd. It sends files as they are and ends neither texts nor menus with a dot.

pygopherd_checks() {
    local root=$work/pygopherd place
    cp -rl "$work/files" "$root"
    make_big "$root/big.bin"
    printf 'text/plain txt\napplication/octet-stream bin\n' >"$work/mime.types"
    free_port
    pygopherd_conf "$root" "$port" "$work/mime.types" "gophermap.BuckGophermapHandler, " >"$work/pygopherd.conf"
    start "$work/pygopherd.log" pygopherd "$work/pygopherd.conf"
    check "pygopherd starts"
    if ! until_true grep -qa 'Running' "$work/pygopherd.log"; then
        cp "$work/pygopherd.log" "$err"
        return
    fi
    place=gopher://localhost:$port

    check "pygopherd: a menu"
    sw get "$place/"
    status_is 0
    out_says $'0text.txt\t/text.txt\tlocalhost\t'"$port"
    err_is_empty

    check "pygopherd: a text"
    sw get "$place/0/text.txt"
    status_is 0
    out_is "$root/text.txt"

    check "pygopherd: a text without a line end"
    sw get "$place/0/unended.txt"
    status_is 0
    out_is "$root/unended.txt"

    check "pygopherd: dots at the beginning of lines stay"
    sw get "$place/0/dots.txt"
    status_is 0
    out_is "$root/dots.txt"

    check "pygopherd: spaces and UTF-8 in selectors"
    sw get "$place/0/a%20b/c%20d.txt" "$place/0/gr%C3%BCn%20%E2%98%83.txt"
    status_is 0
    out_is_text $'spaced\numlauts'

    check "pygopherd: missing, asked for as a menu"
    sw get "$place/1/missing"
    status_is 22
    out_is_empty
    err_is_one_line
    err_says "'/missing' does not exist"

    check "pygopherd: missing, asked for as a text"
    sw get "$place/0/missing.txt"
    status_is 22
    out_is_empty

    check "pygopherd: missing, asked for as a search"
    sw get -d words "$place/7/missing"
    status_is 22
    out_is_empty
    err_says "'/missing' does not exist"

    check "pygopherd: missing, asked for as a binary, leaves no file"
    sw get -o "$work/missing" "$place/9/missing.bin"
    status_is 22
    must_not test -e "$work/missing"
    must_not test -e "$work/missing.part"

    check "pygopherd: the first failure is the exit status, and the rest is fetched"
    sw get "$place/0/a%20b/c%20d.txt" "$place/1/missing" "$place/0/a%20b/c%20d.txt"
    status_is 22
    out_is_text $'spaced\nspaced'

    get_big "$place/9/big.bin" pygopherd
    finish_check
    stop "$server"
    rm -r "$root"
}

if section socat pygopherd; then pygopherd_checks; fi
