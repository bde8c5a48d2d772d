# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# smolserve, which serves files, and jayhawk, which takes data as well: two Spartan servers.

smolserve_spartan_checks() {
    local root=$work/spartan place
    mkdir -p "$root/a b"
    printf '# Page\n=> a%%20b/ Names\n=: /search Words\n' >"$root/index.gmi"
    printf 'hello\n' >"$root/page.txt"
    make_big "$root/big.bin"
    ln "$work/files/grün ☃.txt" "$root/grün ☃.txt"
    printf 'spaced\n' >"$root/a b/c d.txt"
    free_port
    check "smolserve starts"
    start "$work/spartan.log" env PYTHONUNBUFFERED=1 "$SMOLSERVE" --host 127.0.0.1 --no-gemini \
        --no-gopher --no-finger --no-nex --spartan-port "$port" --spartan-root "$root"
    port_in "$work/spartan.log" 'listening on spartan://127\.0\.0\.1:' || return
    place=spartan://127.0.0.1:$port

    check "spartan, smolserve: a page is what the file is"
    sw get "$place/page.txt"
    status_is 0
    out_is "$root/page.txt"
    err_is_empty

    check "spartan, smolserve: the type comes from the server, and nothing says where it ends"
    sw get --json "$place/page.txt"
    status_is 0
    must test "$(jq -c '[.status, .mime, .charset, .body.complete, .plugin]' "$out")" = \
        '[2,"text/plain","utf-8",null,"builtin:spartan"]'

    check "spartan, smolserve: names with blanks and with letters beyond ASCII"
    sw get "$place/a%20b/c%20d.txt" "$place/grün%20☃.txt"
    status_is 0
    out_is_text "$(printf 'spaced\numlauts')"

    check "spartan, smolserve: a directory's links, and a prompt"
    sw links --json "$place"
    status_is 0
    must test "$(jq -c 'select(.type == "link") | [.url, .kind]' "$out")" = \
        "$(printf '["%s","%s"]\n' "$place/a%20b/" link "$place/search" input)"

    check "spartan, smolserve: what is missing is a refusal"
    sw get "$place/missing"
    status_is 22
    out_is_empty
    err_says '4 File not found'

    check "spartan, smolserve: nothing above the root"
    sw get "$place/..%2f..%2fetc/passwd"
    status_is 22

    check "spartan, smolserve: data that it ignores"
    sw get -d words "$place/page.txt"
    status_is 0
    out_is "$root/page.txt"

    get_big "$place/big.bin" "spartan, smolserve"
}

# requests_are LINE…: what jayhawk has been asked since the last time.
requests_are() {
    must test "$(cat "$root/requests")" = "$(printf '%s\n' "$@")"
    : >"$root/requests"
}

jayhawk_checks() {
    local root=$work/jayhawk place
    mkdir -p "$root/127.0.0.1"
    printf '# Page\n' >"$root/127.0.0.1/page.gmi"
    printf 'text\n' >"$root/127.0.0.1/page.txt"
    start "$work/jayhawk.log" env PYTHONUNBUFFERED=1 "$python" "$here/spartan-server.py" "$root"
    port_in "$work/jayhawk.log" '^jayhawk ' || return
    place=spartan://127.0.0.1:$port

    check "spartan, jayhawk: a page, of a host without its port"
    sw get "$place/page.gmi"
    status_is 0
    out_is "$root/127.0.0.1/page.gmi"
    err_is_empty
    requests_are '127.0.0.1 /page.gmi '

    check "spartan, jayhawk: a type that is none"
    sw get --json "$place/page.txt"
    status_is 0
    must test "$(jq -c '[.mime, .warnings[0].code, .body.text]' "$out")" = \
        '[null,"media-type","text\n"]'
    : >"$root/requests"

    check "spartan, jayhawk: data of a query, decoded, with line breaks and zeros"
    sw get "$place/echo?a%20b%0D%0A%00%FF+&c=%C3%A4"
    status_is 0
    must test "$(od -An -v -tx1 "$out" | tr -d ' \n')" = 6120620d0a00ff2b26633dc3a4
    requests_are '127.0.0.1 /echo 6120620d0a00ff2b26633dc3a4'

    check "spartan, jayhawk: data of a file, byte for byte"
    random_bytes 3000000 >"$work/data.bin"
    sw get -d "@$work/data.bin" "$place/echo"
    status_is 0
    out_is "$work/data.bin"

    check "spartan, jayhawk: an upload"
    sw put "$place/echo" "$work/data.bin"
    status_is 0
    out_is "$work/data.bin"

    check "spartan, jayhawk: an empty upload"
    : >"$root/requests"
    sw put "$place/echo" /dev/null
    status_is 0
    out_is_empty
    requests_are '127.0.0.1 /echo '

    check "spartan, jayhawk: after a redirect the data is not sent again"
    sw get -d 'Hello, world' "$place/guestbook"
    status_is 0
    out_says '# Guestbook'
    requests_are '127.0.0.1 /guestbook 48656c6c6f2c20776f726c64' '127.0.0.1 /guestbook '

    check "spartan, jayhawk: a prompt is opened with what it asks for"
    sw open -d Hi "$place/guestbook" 1
    status_is 0
    out_says '[1] Sign (input)'
    requests_are '127.0.0.1 /guestbook ' '127.0.0.1 /guestbook 4869' '127.0.0.1 /guestbook '

    check "spartan, jayhawk: a redirect to a URL is refused"
    sw get "$place/away"
    status_is 102
    err_says "3 spartan://127.0.0.1/page.gmi"
    : >"$root/requests"

    check "spartan, jayhawk: a server error is for now"
    mkdir "$root/127.0.0.1/empty"
    sw get "$place/empty/"
    status_is 75
    err_says '5 Cowardly'
}

if command -v "$SMOLSERVE" >/dev/null; then smolserve_spartan_checks; else missing smolserve; fi
python=$(dirname "$JETFORCE")/python
if "$python" -c 'import jayhawk' 2>/dev/null; then jayhawk_checks; else missing jayhawk; fi
