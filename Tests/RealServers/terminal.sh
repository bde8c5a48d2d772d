# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# What a person sees: smallweb on a pseudo-terminal.

# on_terminal ANSWER ARGUMENT…: what the terminal shows is in $out. The answer is typed when the
# prompt is there, which is $prompt or the scripted server's.
on_terminal() {
    local answer=$1 pid line
    shift
    command=("$@")
    printf -v line ' %q' "$smallweb" "$@"
    rm -f "$work/typed"
    mkfifo "$work/typed"
    exec 7<>"$work/typed"
    patiently python3 "$here/../terminal.py" bash -c "stty -onlcr; ${before:-exec}$line${after:-}" <"$work/typed" >"$out" 2>"$err" &
    pid=$!
    servers+=("$pid")
    if [ -n "$answer" ]; then
        until_true grep -qa "${prompt:-Your [a-z]* }$" "$out"
        printf %s "$answer" >&7
    fi
    until_true has_ended "$pid" || kill "$pid"
    status=0
    wait "$pid" || status=$?
    exec 7>&-
}

terminal_checks() {
    local plain=$scripted_plain tls=$scripted_tls

    check "terminal: control sequences in a text are shown, not obeyed"
    on_terminal '' get "$tls/evil-text"
    status_is 0
    out_says 'red \x1B[31mtitle \x1B]0;owned\x07 end'
    must_not grep -q $'\033]' "$out"
    must_not grep -q $'\033\\[31m' "$out"

    check "terminal: the same of gopher"
    on_terminal '' get "$plain/0/evil-text"
    status_is 0
    out_says 'red \x1B[31mtitle'

    check "terminal: nothing binary"
    on_terminal '' get "$tls/binary"
    status_is 23
    out_says 'hint: save it with -O or -o FILE'
    must_not grep -qaP '\x00' "$out"

    check "terminal: binary with -o -"
    on_terminal '' get -o - "$tls/binary"
    status_is 0
    must grep -qaP '\x00\x01\x02' "$out"

    check "terminal: binary with -o FILE"
    on_terminal '' get -o "$work/binary" "$tls/binary"
    status_is 0
    must is_at_least "$work/binary" 3

    check "terminal: a hint for a missing directory"
    on_terminal '' get -o "$work/no/such/file" "$tls/x"
    status_is 23
    out_says 'hint: make its directory, or use --create-dirs'

    check "terminal: a prompt is answered, and the answer is seen"
    on_terminal $'Ada L\n' get "$tls/ask"
    status_is 0
    out_says 'Your name Ada L'
    out_says 'answer Ada%20L'

    check "terminal: a sensitive answer is not shown while it is typed"
    on_terminal $'hush\n' get "$tls/secret"
    status_is 0
    out_says 'answer hush'
    must_not grep -q 'password.*hush' "$out"
    must test "$(grep -c hush "$out")" -eq 1

    check "terminal: a sensitive answer is not in the trace"
    on_terminal $'hush\n' get -v -o "$work/hushed" "$tls/secret"
    status_is 0
    must grep -q 'answer hush' "$work/hushed"
    must_not grep -q hush "$out"

    check "terminal: Ctrl-C at a sensitive prompt ends it and restores the echo"
    before='trap : INT; ' after='; echo "status $?"; stty -a' \
        on_terminal $'hus\003' get "$tls/secret"
    out_says 'status 130'
    must grep -qE '(^| )echo ' "$out"
    must_not grep -q hus "$out"

    check "terminal: the end of input at a prompt"
    on_terminal $'\004' get "$tls/ask"
    status_is 101

    check "terminal: --no-input asks nothing"
    on_terminal '' get --no-input "$tls/ask"
    status_is 101

    check "terminal: a certificate for another name is a note"
    serve elsewhere "cert=$work/elsewhere.pem" "$work/scripted.run"
    on_terminal '' get "gemini://localhost:$port/"
    status_is 0
    out_says 'note: the certificate is for another name'

    check "terminal: NO_COLOR"
    NO_COLOR=1 on_terminal '' get "$plain/1/evil-error"
    status_is 22
    has_no_controls "$out"
    finish_check
}

if section script && [ -n "${scripted_tls:-}" ]; then terminal_checks; fi
