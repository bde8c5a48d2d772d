# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Pipes, closed descriptors and signals, against servers that are a few lines of shell.

# ends_by STATUS PID: whether the process ends, and with what status.
ends_by() {
    until_true has_ended "$2" || kill -KILL "$2"
    status=0
    wait "$2" 2>/dev/null || status=$?
    status_is "$1"
}

# interrupted SIGNAL STATUS: a signal while the body of -o trickles in.
interrupted() {
    local pid
    check "streams: SIG$1 during -o"
    mkdir "$work/interrupted"
    # A shell script's background jobs ignore SIGINT otherwise.
    env --default-signal "$smallweb" get -o "$work/interrupted/file" "$tls/trickle" \
        >"$out" 2>"$err" &
    pid=$!
    servers+=("$pid")
    until_true is_at_least "$work/interrupted/file.part" 7
    kill "-$1" "$pid"
    ends_by "$2" "$pid"
    err_is_empty
    holds_only "$work/interrupted" ''
    rm -r "$work/interrupted"
}

streams_checks() {
    local plain tls pid codes
    make_big
    script scripted.run <<END
IFS= read -r line
line=\${line%\$'\r'}
case \$line in
    gemini://*) path=/\${line#gemini://*/} ;;
    *) path=\${line%%\$'\t'*} ;;
esac
header() { case \$line in gemini://*) printf '%s\r\n' "\$1" ;; esac; }
case \$path in
    /big) header '20 application/octet-stream'; cat "$big" ;;
    /megabyte) header '20 application/octet-stream'; head -c 1048576 "$big" ;;
    /trickle) header '20 text/plain'; printf 'so far '; cat >/dev/null ;;
    /evil-error) printf '3evil \033]0;owned\007 \302\233 31m\t\terror.host\t1\r\n.\r\n' ;;
    /evil-meta) printf '51 evil \033[31m\r\n' ;;
    /evil-redirect) printf '30 gemini://\033]0;owned\007/\r\n' ;;
    /evil-bidi) printf '51 evil \342\200\256 txt\r\n' ;;
    /evil-text) header '20 text/plain'; printf 'red \033[31mtitle \033]0;owned\007 end\n' ;;
    /binary) header '20 application/octet-stream'; printf '\000\001\002' ;;
    /ask\\?*|/secret\\?*) header '20 text/plain'; printf 'answer %s\n' "\${path#*\\?}" ;;
    /ask) header '10 Your name' ;;
    /secret) header '11 Your password' ;;
    *) header '20 text/plain'; printf 'plain text\n' ;;
esac
exit 0
END
    certificate scripted
    serve plain "$work/scripted.run" || return
    plain=gopher://localhost:$port
    serve tls "cert=$work/scripted.pem" "$work/scripted.run" || return
    tls=gemini://localhost:$port
    # For the other files.
    scripted_plain=$plain scripted_tls=$tls

    check "streams: a reader that goes away ends it quietly, by SIGPIPE"
    env --default-signal "$smallweb" get "$plain/9/big" 2>"$err" | head -c 10 >"$out"
    codes=("${PIPESTATUS[@]}")
    status=${codes[0]}
    status_is 141
    is_at_least "$out" 10 || problem "ten bytes"
    err_is_empty

    check "streams: the same when SIGPIPE was ignored"
    env --ignore-signal=PIPE "$smallweb" get "$tls/big" 2>"$err" | head -c 10 >"$out"
    codes=("${PIPESTATUS[@]}")
    status=${codes[0]}
    status_is 141
    err_is_empty

    check "streams: gopher over TLS shares the pin of its host and port"
    sw get "$tls/x"
    sw get -v "gophers://${tls#*//}/0/x"
    status_is 0
    out_is_text 'plain text'
    err_says 'trust: match'

    check "streams: standard output closed"
    patiently "$smallweb" get "$plain/0/x" >&- 2>"$err" </dev/null
    status=$?
    status_is 23
    err_is_one_line

    check "streams: standard output full"
    patiently "$smallweb" get "$plain/0/x" >/dev/full 2>"$err" </dev/null
    status=$?
    status_is 23
    err_says 'o space left'

    check "streams: standard input closed"
    patiently "$smallweb" get "$tls/x" >"$out" 2>"$err" <&-
    status=$?
    status_is 0
    out_is_text 'plain text'

    check "streams: standard error closed"
    patiently "$smallweb" get -v "$tls/x" >"$out" 2>&- </dev/null
    status=$?
    status_is 0
    out_is_text 'plain text'

    check "streams: standard error closed, and an error"
    patiently "$smallweb" get "$plain/1/evil-error" >"$out" 2>&- </dev/null
    status=$?
    status_is 22
    out_is_empty

    check "streams: all three closed"
    patiently "$smallweb" get -o "$work/closed" "$tls/x" >&- 2>&- <&-
    status=$?
    status_is 0
    must grep -qx 'plain text' "$work/closed"

    check "streams: standard input is left alone"
    printf 'left\n' | { patiently "$smallweb" get "$tls/x" >"$out" 2>"$err"; cat >"$work/left"; }
    out_is_text 'plain text'
    must grep -qx left "$work/left"

    check "streams: -d @- reads it"
    printf 'from stdin\n' | patiently "$smallweb" get -d @- "$tls/ask" >"$out" 2>"$err"
    out_is_text 'answer from%20stdin'

    interrupted INT 130
    interrupted TERM 143
    interrupted HUP 129

    check "streams: SIGHUP is left ignored, as nohup asks"
    env --default-signal --ignore-signal=HUP "$smallweb" get -o "$work/nohup" \
        "$tls/trickle" >"$out" 2>"$err" &
    pid=$!
    servers+=("$pid")
    until_true is_at_least "$work/nohup.part" 7
    # The first of two signals would decide.
    kill -HUP "$pid"
    kill -TERM "$pid"
    ends_by 143 "$pid"

    check "streams: SIGINT while standard output trickles"
    env --default-signal "$smallweb" get "$tls/trickle" >"$out" 2>"$err" &
    pid=$!
    servers+=("$pid")
    until_true is_at_least "$out" 7
    kill -INT "$pid"
    ends_by 130 "$pid"
    out_is_text 'so far '
    err_is_empty

    check "streams: --max-time ends a trickle and leaves no file"
    sw get --max-time 0.5 -o "$work/late" "$tls/trickle"
    status_is 28
    must_not test -e "$work/late"
    must_not test -e "$work/late.part"

    for path in /evil-meta /evil-redirect; do
        check "streams: control characters in a header, $path"
        sw get -v "$tls$path"
        status_is 8
        has_no_controls "$err"
    done
    check "streams: control characters in an error line"
    sw get -v "$plain/1/evil-error"
    status_is 22
    err_says 'evil \x1B]0;owned\x07'
    has_no_controls "$err"
    must_not grep -q $'\302\233' "$err"
    check "streams: a right-to-left override in an error"
    sw get "$tls/evil-bidi"
    status_is 22
    err_says '\u{202E}'
    must_not grep -q $'\342\200\256' "$err"
    check "streams: what is piped is exact, controls included"
    sw get "$tls/evil-text"
    status_is 0
    printf 'red \033[31mtitle \033]0;owned\007 end\n' >"$work/wanted"
    out_is "$work/wanted"

    get_big "$tls/big" "socat with TLS"
    finish_check
}

if section openssl socat; then streams_checks; fi
