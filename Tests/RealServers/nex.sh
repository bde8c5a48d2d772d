# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# smolserve, and a script behind socat that ends its lines with CR LF: two Nex servers.

nex_checks() {
    local root=$work/nex place
    mkdir -p "$root/a b"
    printf 'hello\n' >"$root/page.txt"
    make_big "$root/big.bin"
    printf 'spaced\n' >"$root/a b/c d.txt"
    free_port
    check "smolserve starts"
    start "$work/nex.log" env PYTHONUNBUFFERED=1 "$SMOLSERVE" --host 127.0.0.1 --no-gemini \
        --no-gopher --no-finger --no-spartan --nex-port "$port" --nex-root "$root"
    port_in "$work/nex.log" 'listening on nex://127\.0\.0\.1:' || return
    place=nex://127.0.0.1:$port

    check "nex: a page is what the file is"
    sw get "$place/page.txt"
    status_is 0
    out_is "$root/page.txt"
    err_is_empty

    check "nex: a name with blanks"
    sw get "$place/a%20b/c%20d.txt"
    status_is 0
    out_is_text spaced

    check "nex: a directory's links"
    sw links "$place/"
    status_is 0
    out_says "$place/page.txt"

    check "nex: what is missing is text like any other"
    sw get --json "$place/missing"
    status_is 0
    must test "$(jq -r .body.complete "$out")" = null

    get_big "$place/big.bin" nex
}

nex_script_checks() {
    script nex.run <<'END'
IFS= read -r line
printf 'for %s\r\n=> a/\r\n=> ../up.txt The way up\r\n' "$line"
END
    serve nex "$work/nex.run" || return
    check "nex: lines that end with CR LF"
    sw links "nex://127.0.0.1:$port/dir/"
    status_is 0
    out_is_text "$(printf 'nex://127.0.0.1:%s/dir/a/\ta/\nnex://127.0.0.1:%s/up.txt\tThe way up' \
        "$port" "$port")"
}

if command -v "$SMOLSERVE" >/dev/null; then nex_checks; else missing smolserve; fi
if section socat; then nex_script_checks; fi
