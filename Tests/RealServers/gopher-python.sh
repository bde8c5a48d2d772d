# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# pituophis, whose errors have the port 0, and flask-gopher, whose own errors are plain texts.

# gopher_refuses NAME TEXT URL: nothing is put out or written, and one line says why.
gopher_refuses() {
    check "$1"
    sw get "$3"
    status_is 22
    out_is_empty
    err_is_one_line
    err_says "$2"
    sw get -o "$work/refused" "$3"
    status_is 22
    must_not test -e "$work/refused"
    must_not test -e "$work/refused.part"
}

pituophis_checks() {
    local place=gopher://localhost:$1 type

    check "$2: a menu"
    sw get "$place/"
    status_is 0
    out_says $'\t/text.txt\t'
    err_is_empty

    check "$2: a search"
    sw get -d 'two words' "$place/7/search"
    status_is 0
    out_says 'you asked for two words'

    for type in 0 1 4 5 6 9 g h I; do
        gopher_refuses "$2: missing, type $type" '404: /nope does not exist.' "$place/$type/nope"
    done
    gopher_refuses "$2: missing, a search" '404: /nope does not exist.' "$place/7/nope%09words"
    gopher_refuses "$2: outside of what is served" '403: Resource outside' "$place/0/../x"
}

gopher_python_checks() {
    local root=$work/pituophis log=$work/gopher-python.log place file
    cp -rl "$work/files" "$root"
    printf '3one\t/\t\t0\r\nand more\r\n' >"$root/lines.txt"
    printf '3one\t/\t\t0\r\n3two\t/\t\t0\r\n' >"$root/table.txt"
    printf '3 apples' >"$root/three.txt"
    printf '3one\t/\t\t0\n\000' >"$root/three.bin"
    start "$log" env PYTHONUNBUFFERED=1 "$python" "$here/gopher-servers.py" "$root"

    port_in "$log" '^pituophis ' || return
    place=gopher://localhost:$port
    pituophis_checks "$port" pituophis
    for file in text.txt dots.txt unended.txt lines.txt table.txt three.txt; do
        check "pituophis: $file as a text"
        sw get "$place/0/$file"
        status_is 0
        out_is "$root/$file"
    done
    for file in text.txt lines.txt table.txt three.txt three.bin; do
        check "pituophis: $file as a binary"
        sw get "$place/9/$file"
        status_is 0
        out_is "$root/$file"
    done

    port_in "$log" '^pituophis-dot ' || return
    pituophis_checks "$port" 'pituophis, with dots'

    port_in "$log" '^flask-gopher ' || return
    place=gopher://localhost:$port
    check "flask-gopher: a menu"
    sw get "$place/"
    status_is 0
    out_says $'0a text\t/text\t127.0.0.1\t'
    check "flask-gopher: a text that begins with 3"
    sw get "$place/0/text" "$place/9/text"
    status_is 0
    printf '3 apples\tand\tpears\tand\r\nplums\r\n%.0s' 1 2 >"$work/wanted"
    out_is "$work/wanted"
    check "flask-gopher: a search"
    sw get -d 'two words' "$place/7/search"
    status_is 0
    out_says 'you asked for two words'
    for file in 0 1 7 9; do
        gopher_refuses "flask-gopher: gone, type $file" 'it is gone' "$place/$file/gone%09"
    done
    check "flask-gopher: its own error is a text like any other"
    sw get "$place/0/nope"
    status_is 0
    out_says 'Error: 404 Not Found'
    finish_check
    stop "$server"
    rm -r "$root"
}

python=$(dirname "$JETFORCE")/python
finish_check
if "$python" -c 'import pituophis, flask_gopher' 2>/dev/null; then
    gopher_python_checks
else
    missing 'pituophis and flask-gopher'
fi
