# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# gophernicus behind socat. It turns the line ends of texts into CRLF and never ends them with a dot.

gophernicus_checks() {
    local root=$work/gophernicus place
    cp -rl "$work/files" "$root"
    make_big "$root/big.bin"
    mkdir "$root/cgi-bin"
    script gophernicus/cgi-bin/search <<'END'
printf 'iyou asked for %s\t\tnull.host\t1\r\n.\r\n' "$QUERY_STRING"
END
    # Its status is not passed on: socat would drop the rest of the reply.
    script gophernicus.run <<END
gophernicus -r "$root" -h localhost -p "\$SOCAT_SOCKPORT" -nm -nr -ns -np
exit 0
END
    serve gophernicus "$work/gophernicus.run" || return
    place=gopher://localhost:$port

    check "gophernicus: a menu"
    sw get "$place/"
    status_is 0
    out_says $'\t/text.txt\tlocalhost\t'"$port"
    err_is_empty
    must_not grep -qx $'\\.\r*' "$out"

    check "gophernicus: a text"
    sw get "$place/0/text.txt"
    status_is 0
    sed 's/$/\r/' "$root/text.txt" >"$work/wanted"
    out_is "$work/wanted"

    check "gophernicus: dots at the beginning of lines stay"
    sw get "$place/0/dots.txt"
    status_is 0
    sed 's/$/\r/' "$root/dots.txt" >"$work/wanted"
    out_is "$work/wanted"

    check "gophernicus: spaces in a selector"
    sw get "$place/0/a%20b/c%20d.txt"
    status_is 0
    out_is_text $'spaced\r'

    check "gophernicus: UTF-8 in a selector, encoded and not"
    sw get "$place/0/gr%C3%BCn%20%E2%98%83.txt" "$place/0/grün%20☃.txt"
    status_is 0
    out_is_text $'umlauts\r\numlauts\r'

    check "gophernicus: -O keeps such a name"
    sw get -O --output-dir "$work/names" --create-dirs "$place/0/gr%C3%BCn%20%E2%98%83.txt"
    status_is 0
    holds_only "$work/names" './grün ☃.txt '

    check "gophernicus: a search"
    sw get -d 'small & web' "$place/7/cgi-bin/search"
    status_is 0
    out_says 'iyou asked for small & web'

    check "gophernicus: a search in the URL"
    sw get "$place/7/cgi-bin/search%09two%20words"
    status_is 0
    out_says 'iyou asked for two words'

    check "gophernicus: a search without words"
    sw get "$place/7/cgi-bin/search"
    status_is 101
    out_is_empty

    check "gophernicus: a missing menu"
    sw get "$place/1/missing/"
    status_is 22
    out_is_empty
    err_is_one_line
    err_says 'File or directory not found'

    check "gophernicus: nothing is written for a missing menu"
    sw get -o "$work/missing" "$place/1/missing/"
    status_is 22
    must_not test -e "$work/missing"
    must_not test -e "$work/missing.part"

    check "gophernicus: a missing search"
    sw get -d words "$place/7/missing/"
    status_is 22
    out_is_empty
    err_says 'File or directory not found'

    # It is told by its words alone, as any text that is about an error.
    check "gophernicus: a missing text is answered with a text"
    sw get "$place/0/missing.txt"
    status_is 0
    out_says 'Error: File or directory not found'

    get_big "$place/9/big.bin" gophernicus

    check "gophernicus: --max-filesize leaves no file"
    sw get --max-filesize 1M -o "$work/limited" "$place/9/big.bin"
    status_is 63
    must_not test -e "$work/limited"
    must_not test -e "$work/limited.part"

    finish_check
    stop "$server"
    rm -r "$root"
}

if section socat gophernicus; then gophernicus_checks; fi
