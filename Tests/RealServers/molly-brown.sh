# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Molly Brown binds every interface, so it runs in a network namespace that has only loopback.

# fingerprint IDENTITY: as Molly Brown's zones want it.
fingerprint() {
    "$smallweb" identity show "$1" | grep '^certificate' | grep -oE '[0-9a-f]{64}'
}

molly_brown_checks() {
    local root=$work/molly place=gemini://localhost:1999 outer=$smallweb who locked
    cp -rl "$work/files" "$root"
    make_big "$root/big.bin"
    mkdir "$root/secret" "$root/secretary" "$root/eddy"
    echo hidden >"$root/secret/page.gmi"
    echo desk >"$root/secretary/page.gmi"
    echo eddy >"$root/eddy/page.gmi"
    "$smallweb" identity new alice
    "$smallweb" identity new mallory
    "$smallweb" identity new --key-type ed25519 eddy
    certificate molly
    molly_brown_conf "$root" "$work/molly" >"$work/molly.conf"
    cat >>"$work/molly.conf" <<END
[TempRedirects]
"^/old\$" = "/text.txt"
"^/loop\$" = "/loop"
"^/in\$" = "/secret/page.gmi"
"^/secret/out\$" = "/secretary/page.gmi"
[CertificateZones]
"^/secret/" = ["$(fingerprint alice)"]
"^/secretary/" = ["$(fingerprint alice)"]
"^/eddy/" = ["$(fingerprint eddy)"]
END
    # shellcheck disable=SC2016 # another shell expands it
    start "$work/molly.log" "${namespace[@]}" -n \
        sh -c 'ip link set lo up && exec molly-brown -c "$0"' "$work/molly.conf"
    enter+=(-t "$server" -n)
    script in-namespace <<END
exec ${enter[*]} "$outer" "\$@"
END
    check "molly-brown starts"
    until_true "${enter[@]}" bash -c 'exec 3<>/dev/tcp/127.0.0.1/1999' || {
        cp "$work/molly.log" "$err"
        return
    }
    smallweb=$work/in-namespace

    check "molly-brown: a page"
    sw get "$place/text.txt"
    status_is 0
    out_is "$root/text.txt"
    err_is_empty

    check "molly-brown: the index of a directory"
    sw get "$place/"
    status_is 0
    out_says '=> text.txt'

    check "molly-brown: a redirect"
    sw get -v "$place/old"
    status_is 0
    out_is "$root/text.txt"
    err_says "30 redirect to $place/text.txt"

    check "molly-brown: a redirect that is not followed"
    sw get --no-location "$place/old"
    status_is 102
    out_is_empty

    check "molly-brown: a redirect to itself"
    sw get "$place/loop"
    status_is 47
    out_is_empty

    check "molly-brown: a zone for client certificates"
    sw get "$place/secret/page.gmi"
    status_is 98
    out_is_empty
    err_says 'client certificate: 60'

    check "molly-brown: the wrong identity"
    sw get --identity mallory "$place/secret/page.gmi"
    status_is 98
    out_is_empty
    err_says 'client certificate: 61'

    check "molly-brown: the right identity, by its name"
    sw get --identity alice "$place/secret/page.gmi"
    status_is 0
    out_is "$root/secret/page.gmi"

    check "molly-brown: an identity with an Ed25519 key"
    sw get --identity eddy "$place/eddy/page.gmi"
    status_is 0
    out_is "$root/eddy/page.gmi"

    check "molly-brown: an identity where it is bound"
    sw identity use alice "$place/secret"
    status_is 0
    sw get -v "$place/secret/page.gmi"
    status_is 0
    out_is "$root/secret/page.gmi"
    err_says "client certificate sha256:$(fingerprint alice)"

    check "molly-brown: /secret is not the beginning of /secretary"
    sw get "$place/secretary/page.gmi"
    status_is 98
    err_says 'client certificate: 60'

    check "molly-brown: an identity that is not asked for where it is not bound"
    sw get -v "$place/text.txt"
    status_is 0
    err_lacks 'client certificate'

    check "molly-brown: a redirect to where an identity is bound"
    sw get "$place/in"
    status_is 0
    out_is "$root/secret/page.gmi"

    check "molly-brown: a redirect to where it is not"
    sw get "$place/secret/out"
    status_is 98
    out_is_empty

    check "molly-brown: an encrypted key, and its password in a file"
    openssl pkcs8 -topk8 -in "$XDG_DATA_HOME/smallweb/identities/alice.pem" -out "$work/locked.key" \
        -passout pass:sesame 2>"$err"
    openssl x509 -in "$XDG_DATA_HOME/smallweb/identities/alice.pem" -out "$work/locked.crt"
    echo sesame >"$work/password"
    echo simsim >"$work/wrong-password"
    locked=(-E "$work/locked.crt" --key "$work/locked.key" "$place/secretary/page.gmi")
    sw get --key-password-file "$work/password" "${locked[@]}"
    status_is 0
    out_is "$root/secretary/page.gmi"

    check "molly-brown: an encrypted key without a terminal"
    sw get "${locked[@]}"
    status_is 58
    err_says 'cannot be asked for without a terminal'

    check "molly-brown: an encrypted key, and the wrong password"
    sw get --key-password-file "$work/wrong-password" "${locked[@]}"
    status_is 58
    err_says 'the password does not open its key'

    check "molly-brown: not found"
    sw get "$place/missing"
    status_is 22

    get_big "$place/big.bin" molly-brown
    finish_check
    smallweb=$outer
    for who in alice mallory eddy; do "$smallweb" identity remove --force "$who"; done
    stop "$server"
    rm -r "$root"
}

if section openssl molly-brown unshare nsenter ip; then
    if find_namespaces; then molly_brown_checks; else skip "molly-brown needs a network namespace"; fi
fi
