# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Trust, passwords and tokens where a person is at the terminal, and where nobody is.

# ask ANSWER ARGUMENT…: with an empty store of its own.
ask() {
    rm -f "$work/asked"
    SMALLWEB_KNOWN_HOSTS=$work/asked prompt='trust it? \[y/N\] ' on_terminal "$@"
}


stores_nothing() { [ ! -e "$work/asked" ] || problem "nothing is stored"; }

trust_checks() {
    local place other key wrong
    script trust.run <<'END'
IFS= read -r line
# What is closed with an upload unread is reset, and the reply may be lost with it.
size=${line##*;size=}
case $line in *';size='*) head -c "${size%%[!0-9]*}" >/dev/null ;; esac
printf '20 text/plain\r\ngot %s\n' "${line%$'\r'}"
END
    certificate trusted
    key=$(openssl x509 -in "$work/trusted.crt" -pubkey -noout | openssl pkey -pubin -outform DER \
        | sha256sum | cut -d' ' -f1)
    serve trust "cert=$work/trusted.pem" "$work/trust.run" || return
    place=localhost:$port
    wrong=$(printf 'ab%.0s' $(seq 32))

    check "trust: a new key is shown, and a yes stores it"
    ask $'y\n' get --trust ask "gemini://$place/"
    status_is 0
    out_says "the key of $place is not known"
    out_says "key $(grouped "$key")"
    out_says "got gemini://$place/"
    must grep -q "^$place k sha256:$key .* via=asked " "$work/asked"

    check "trust: a store that is mounted by itself is rewritten where it is"
    if find_namespaces; then
        mkdir "$work/mounted"
        printf '# kept\n' >"$work/mounted/known"
        printf '# mounted\n' >"$work/mounted/hosts"
        script on-mounted-store <<END
mount --bind "$work/mounted/known" "$work/mounted/hosts" || exit 99
"$smallweb" get --known-hosts "$work/mounted/hosts" "gemini://$place/"
END
        patiently "${namespace[@]}" -m "$work/on-mounted-store" >"$out" 2>"$err" </dev/null
        status=$?
        status_is 0
        must grep -q '^# kept$' "$work/mounted/known"
        must grep -q "^$place k sha256:$key " "$work/mounted/known"
        must test "$(ls -A "$work/mounted")" = $'hosts\nknown'
    else
        name=''
        skip "a store that is mounted by itself needs a private mount"
    fi

    check "trust: a no stores nothing and sends nothing"
    ask $'n\n' get --trust ask "gemini://$place/"
    status_is 60
    must_not grep -q 'got gemini' "$out"
    stores_nothing

    check "trust: nothing but the return key is a no"
    ask $'\n' get --trust ask "gemini://$place/"
    status_is 60
    stores_nothing

    check "trust: the end of input is a no"
    ask $'\004' get --trust ask "gemini://$place/"
    status_is 60
    stores_nothing

    check "trust: --no-input asks nobody"
    ask '' get --trust ask --no-input "gemini://$place/"
    status_is 60
    must_not grep -q 'trust it?' "$out"
    stores_nothing

    check "trust: a changed key is shown beside the known one, and a yes replaces it"
    echo "$place k sha256:$wrong expires=9999999999 first=1700000000" >"$work/changed"
    SMALLWEB_KNOWN_HOSTS=$work/changed prompt='trust it? \[y/N\] ' \
        on_terminal $'y\n' get --trust ask "gemini://$place/"
    status_is 0
    out_says "was $(grouped "$wrong")"
    out_says "now $(grouped "$key")"
    must grep -q "^$place k sha256:$key " "$work/changed"
    must_not grep -q "$wrong" "$work/changed"

    check "trust: a key's password is asked for once, and not shown"
    openssl pkey -in "$work/trusted.key" -aes256 -passout pass:sesame -out "$work/asked.key"
    locked=(-E "$work/trusted.crt" --key "$work/asked.key" "gemini://$place/1" "gemini://$place/2")
    prompt='password of the key: ' on_terminal $'sesame\n' get "${locked[@]}"
    status_is 0
    out_says "got gemini://$place/1"
    out_says "got gemini://$place/2"
    must_not grep -q sesame "$out"

    check "trust: a wrong password"
    prompt='password of the key: ' on_terminal $'simsim\n' get "${locked[@]}"
    status_is 58
    out_says 'the password does not open its key'

    check "trust: Ctrl-C at a password restores the echo"
    before='trap : INT; ' after='; echo "status $?"; stty -a' prompt='password of the key: ' \
        on_terminal $'ses\003' get "${locked[@]}"
    out_says 'status 130'
    must grep -qE '(^| )echo ' "$out"
    must_not grep -q ses$'\r' "$out"

    check "trust: --no-input asks for no password"
    on_terminal '' get --no-input "${locked[@]}"
    status_is 58
    out_says 'hint: put its password into a file, for --key-password-file'

    check "trust: the token of an upload is asked for, and not shown"
    prompt='token: ' on_terminal $'open\n' put --ask-token "titan://$place/a.txt" "$work/trust.run"
    status_is 0
    out_says ";token=open"
    must test "$(grep -c open "$out")" -eq 1

    check "trust: --no-input asks for no token"
    on_terminal '' put --no-input --ask-token "titan://$place/a.txt" "$work/trust.run"
    status_is 101
    out_says 'hint: put it into a file, for --token-file'

    check "trust: a list for a person has columns and fits"
    before='stty cols 60; exec' on_terminal '' trust list --known-hosts "$work/changed"
    status_is 0
    out_says 'PLACE'
    must test "$(wc -L <"$out")" -le 60
    out_says '…'

    check "trust: a list for a program has tabs and everything"
    sw trust list --known-hosts "$work/changed"
    status_is 0
    must grep -qP "^$place\tk\tsha256:$key\t" "$out"
    must_not grep -q PLACE "$out"
    finish_check
}

if section openssl socat script; then trust_checks; fi
