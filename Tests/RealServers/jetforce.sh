# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# jetforce: a Gemini server, and trust on first use against it.

# start_jetforce PORT CERTIFICATE
start_jetforce() {
    start "$work/jetforce.log" env PYTHONUNBUFFERED=1 "$JETFORCE" --host 127.0.0.1 --port "$1" \
        --hostname localhost --dir "$work/jetforce" \
        --tls-certfile "$work/$2.crt" --tls-keyfile "$work/$2.key"
    port_in "$work/jetforce.log" 'Listening on 127\.0\.0\.1:'
}

jetforce_checks() {
    local root=$work/jetforce place old new
    cp -rl "$work/files" "$root"
    make_big "$root/big.bin"
    printf '# Hello\n=> /text.txt a text\n' >"$root/index.gmi"
    mkdir "$root/cgi-bin" "$root/plain" "$root/grün"
    echo page | tee "$root/plain/page.txt" >"$root/grün/page.txt"
    script jetforce/cgi-bin/ask <<'END'
if [ -z "${QUERY_STRING:-}" ]; then printf '10 Your name?\r\n'; else
    printf '20 text/plain\r\n%s\n' "$QUERY_STRING"
fi
END
    certificate jetforce-old
    certificate jetforce-new
    # It serves only URLs with the port that it was told.
    free_port
    check "jetforce starts"
    start_jetforce "$port" jetforce-old || return
    place=gemini://localhost:$port

    check "jetforce: the first visit pins the key"
    sw get -v "$place/"
    status_is 0
    out_is "$root/index.gmi"
    err_says 'trust: first-use'
    err_says "> $place/"
    until_true grep -qaF "$place/" "$work/jetforce.log"
    old=$(grep -o 'public key sha256:[0-9a-f]*' "$err" | grep -o 'sha256:.*')
    must grep -q "^localhost:$port k $old " "$SMALLWEB_KNOWN_HOSTS"
    must test "$(stat -c %a "$SMALLWEB_KNOWN_HOSTS")" = 600
    must test "$old" = "sha256:$(openssl x509 -in "$work/jetforce-old.crt" -noout -pubkey \
        | openssl pkey -pubin -outform der | sha256sum | cut -d' ' -f1)"

    check "jetforce: the second visit matches"
    sw get -v "$place/"
    status_is 0
    err_says 'trust: match'

    check "jetforce: a text, silently"
    sw get "$place/text.txt"
    status_is 0
    out_is "$root/text.txt"
    err_is_empty

    check "jetforce: the index of a directory"
    sw get "$place/a%20b/"
    status_is 0
    out_says 'c%20d.txt'

    check "jetforce: a directory without its slash is a redirect"
    sw get -v "$place/plain"
    status_is 0
    err_says "31 redirect to $place/plain/"
    out_says 'page.txt'

    # It writes the path into the header as it is, which the specification does not allow.
    check "jetforce: a redirect with a bare space"
    sw get -v "$place/a%20b"
    status_is 0
    out_says 'c%20d.txt'

    check "jetforce: a redirect with bare UTF-8"
    sw get -v "$place/gr%C3%BCn"
    status_is 0
    out_says 'page.txt'

    check "jetforce: percent-encoded and UTF-8 names"
    sw get "$place/a%20b/c%20d.txt" "$place/gr%C3%BCn%20%E2%98%83.txt" "$place/grün%20☃.txt"
    status_is 0
    out_is_text $'spaced\numlauts\numlauts'

    check "jetforce: not found"
    sw get -o "$work/missing" "$place/missing"
    status_is 22
    err_is_one_line
    err_says ': the server refused: 51'
    must_not test -e "$work/missing"

    check "jetforce: input from -d, encoded"
    sw get -d 'Zoë & co? 100%' "$place/cgi-bin/ask"
    status_is 0
    out_is_text 'Zo%C3%AB%20%26%20co%3F%20100%25'

    check "jetforce: input missing"
    sw get "$place/cgi-bin/ask"
    status_is 101
    out_is_empty
    err_says 'Your name?'

    check "jetforce: -i shows the header"
    sw get -i "$place/unended.txt"
    status_is 0
    out_is_text $'20 text/plain\r\nno line end'

    get_big "$place/big.bin" jetforce

    check "jetforce: eight at once share the trust store"
    rm -f "$SMALLWEB_KNOWN_HOSTS"
    local pids=() pid
    for _ in 1 2 3 4 5 6 7 8; do
        "$smallweb" get "$place/text.txt" >>"$out" 2>>"$err" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do must wait "$pid"; done
    must test "$(grep -c "^localhost:$port " "$SMALLWEB_KNOWN_HOSTS")" -eq 1
    err_is_empty

    check "jetforce: a changed key stops the fetch before anything is sent"
    stop "$server"
    start_jetforce "$port" jetforce-new || return
    cp "$SMALLWEB_KNOWN_HOSTS" "$work/before"
    sw get -v -o "$work/changed" "$place/text.txt"
    status_is 90
    new=sha256:$(openssl x509 -in "$work/jetforce-new.crt" -noout -pubkey \
        | openssl pkey -pubin -outform der | sha256sum | cut -d' ' -f1)
    err_says "was $(grouped "${old#sha256:}")"
    err_says "now $(grouped "${new#sha256:}")"
    must_not grep -q '^>' "$err"
    must_not grep -qa "$place" "$work/jetforce.log"
    must cmp "$SMALLWEB_KNOWN_HOSTS" "$work/before"
    must_not test -e "$work/changed"

    check "jetforce: without -v a changed key is a line, its dates, both keys and the command that helps"
    sw get "$place/text.txt"
    status_is 90
    out_is_empty
    must test "$(wc -l <"$err")" -eq 5
    err_says "hint: if the change is genuine: smallweb trust replace"

    check "jetforce: -k fetches all the same, and stores nothing"
    sw get -k "$place/text.txt"
    status_is 0
    out_is "$root/text.txt"
    must cmp "$SMALLWEB_KNOWN_HOSTS" "$work/before"
    finish_check
    stop "$server"
    rm -r "$root"
}

if section openssl "$JETFORCE"; then jetforce_checks; fi
