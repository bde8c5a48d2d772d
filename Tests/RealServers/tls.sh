# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# openssl s_server: versions, keys and certificates of every kind, and a body that is cut off.

# cut_off CERTIFICATE OPTION…: a server on $port that answers one request and closes the connection
# without close_notify, which is how s_server takes the end of its own input.
cut_off() {
    local certificate=$work/$1 log=$work/s_server.log
    shift
    rm -f "$work/reply"
    mkfifo "$work/reply"
    exec 7<>"$work/reply"
    stdin=$work/reply start "$log" openssl s_server -accept 127.0.0.1:0 -naccept 1 \
        -cert "$certificate.crt" -key "$certificate.key" "$@"
    (
        until_true grep -qa '^gemini://' "$log" && printf '20 text/plain\r\nhi'
    ) >&7 &
    servers+=($!)
    exec 7>&-
    port_in "$log" 'ACCEPT 127\.0\.0\.1:'
}

# dated NAME FROM TO: a certificate of the past or of the future, which `req` cannot make.
dated() {
    local directory=$work/ca-$1
    certificate "$1"
    mkdir "$directory"
    : >"$directory/index"
    cat >"$directory/conf" <<END
[ca]
default_ca = here
[here]
database = $directory/index
new_certs_dir = $directory
default_md = sha256
rand_serial = yes
policy = any
[any]
commonName = supplied
END
    openssl req -new -key "$work/$1.key" -subj /CN=localhost -out "$directory/request"
    openssl ca -batch -notext -selfsign -config "$directory/conf" -keyfile "$work/$1.key" \
        -in "$directory/request" -startdate "$2" -enddate "$3" -out "$work/$1.crt" \
        2>"$directory/log" || cat "$directory/log" >&2
    cat "$work/$1.crt" "$work/$1.key" >"$work/$1.pem"
}

# fetches NAME CERTIFICATE [OPTION]: a whole fetch; the trace is in $err.
fetches() {
    check "openssl: $1"
    serve hi "cert=$work/$2.pem${3:+,$3}" "$work/hi.run"
    sw get -v "gemini://localhost:$port/"
    status_is 0
    out_is_text hi
    err_says 'trust: first-use'
}

tls_checks() {
    local old=(-tls1_1 -cipher ALL:@SECLEVEL=0)
    script hi.run <<<"read -r _; printf '20 text/plain\r\nhi'"
    certificate ecdsa
    certificate rsa rsa:2048
    certificate ed25519 ed25519
    subject=elsewhere.example certificate elsewhere
    dated expired 20200101000000Z 20210101000000Z
    dated future 20480101000000Z 20490101000000Z

    fetches "an RSA key" rsa
    fetches "an ECDSA key" ecdsa
    fetches "an Ed25519 key" ed25519
    fetches "TLS 1.3 only" ecdsa openssl-min-proto-version=TLS1.3
    err_says TLSv1.3
    fetches "TLS 1.2 only" ecdsa openssl-max-proto-version=TLS1.2
    err_says TLSv1.2
    fetches "an expired certificate, with a note" expired
    err_says 'note: the certificate expired'
    fetches "a certificate that is not valid yet, with a note" future
    err_says 'note: the certificate is valid from 2048'
    fetches "a certificate for another name, with a note" elsewhere
    err_says 'note: the certificate is for another name'

    check "openssl: notes are not for scripts"
    serve hi "cert=$work/elsewhere.pem" "$work/hi.run"
    sw get "gemini://localhost:$port/"
    status_is 0
    out_is_text hi
    err_is_empty

    check "openssl: no SNI for an address"
    serve hi "cert=$work/ecdsa.pem" "$work/hi.run"
    sw get -v "gemini://127.0.0.1:$port/"
    status_is 0
    err_says 'SNI none'

    check "openssl: TLS 1.1 is refused, and nothing is sent"
    cut_off ecdsa "${old[@]}" -naccept 2
    must patiently openssl s_client -connect "127.0.0.1:$port" "${old[@]}" </dev/null
    sw get -v "gemini://localhost:$port/"
    status_is 35
    out_is_empty
    must_not grep -q '^>' "$err"

    check "openssl: a body cut off goes to standard output, with status 18"
    cut_off ecdsa
    sw get "gemini://localhost:$port/"
    status_is 18
    out_is_text hi
    err_is_one_line

    check "openssl: a body cut off leaves no file"
    mkdir "$work/cut"
    cut_off ecdsa
    sw get -o "$work/cut/file" "gemini://localhost:$port/"
    status_is 18
    holds_only "$work/cut" ''

    check "openssl: a body cut off with TLS 1.2"
    cut_off ecdsa -tls1_2
    sw get "gemini://localhost:$port/"
    status_is 18
    out_is_text hi

    check "openssl: no TLS at all behind the port"
    script plain.run <<<"printf 'HTTP/1.0 400 Bad Request\r\n\r\n'"
    serve plain "$work/plain.run"
    sw get "gemini://localhost:$port/"
    status_is 35
    out_is_empty
    err_is_one_line

    check "openssl: nobody behind the port"
    free_port
    sw get "gemini://localhost:$port/"
    status_is 7
    err_is_one_line
    finish_check
}

if section openssl socat; then tls_checks; fi
