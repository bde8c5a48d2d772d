# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# What the release binary alone must prove, since its OpenSSL starts with less: 18 encryptions of
# keys, and certificates of authorities that sign with RSA, PSS, P-256, P-384 and Ed25519.

# opens_encrypted NAME COMMAND…: a key that openssl's command encrypts opens with its password alone.
opens_encrypted() {
    check "keys: encrypted as $1"
    must openssl "${@:2}" -passout pass:sesame -in "$work/keys.key" -out "$work/locked.key"
    for word in sesame simsim; do
        echo "$word" >"$work/password"
        sw get -E "$work/keys.crt" --key "$work/locked.key" --key-password-file "$work/password" \
            "gemini://localhost:$port/"
        case $word in
            sesame) status_is 0 && out_says "signed by RSA" ;;
            simsim) status_is 58 && err_says 'the password does not open its key' ;;
        esac
    done
}

# verifies_signer NAME DIGEST KEY-ARGUMENT…: a server's certificate whose authority has such a key.
verifies_signer() {
    check "keys: an authority that signs with $1"
    must openssl req -x509 -newkey "${@:3}" -"$2" -nodes -days 30 -subj "/CN=the $1" \
        -keyout "$work/signer.key" -out "$work/signer.crt"
    must openssl x509 -req -"$2" -in "$work/signed.csr" -days 30 -CA "$work/signer.crt" \
        -CAkey "$work/signer.key" -CAcreateserial -out "$work/signed.crt" \
        -extfile <(echo subjectAltName=DNS:localhost)
    cat "$work/signed.crt" "$work/keys.key" >"$work/signed.pem"
    serve signed "cert=$work/signed.pem" "$work/keys.run" || return
    SSL_CERT_FILE=$work/signer.crt sw get --trust ca "gemini://localhost:$port/"
    status_is 0
    SSL_CERT_FILE=$work/keys.crt sw get --trust ca "gemini://localhost:$port/"
    status_is 60
    stop "$server"
}

keys_checks() {
    local cipher word
    script keys.run <<'END'
IFS= read -r line
printf '20 text/plain\r\nsigned by RSA\n'
END
    certificate keys rsa:2048
    serve keys "cert=$work/keys.pem" "$work/keys.run" || return
    for cipher in des3 aes128 aes192 aes256 camellia128 camellia192 camellia256 \
        aria128 aria192 aria256; do
        opens_encrypted "traditional PEM with $cipher" rsa -traditional "-$cipher"
    done
    for cipher in des3 aes-128-cbc aes-256-cbc camellia-256-cbc aria-256-cbc; do
        opens_encrypted "PKCS #8 with $cipher" pkcs8 -topk8 -v2 "$cipher"
    done
    opens_encrypted "PKCS #8 with scrypt" pkcs8 -topk8 -scrypt
    opens_encrypted "PKCS #8 with SHA-512" pkcs8 -topk8 -v2 aes-256-cbc -v2prf hmacWithSHA512
    opens_encrypted "PKCS #8, version 1" pkcs8 -topk8 -v1 PBE-SHA1-3DES

    openssl req -new -key "$work/keys.key" -subj /CN=localhost -out "$work/signed.csr"
    verifies_signer "RSA and SHA-256" sha256 rsa:2048
    verifies_signer "RSA and SHA-384" sha384 rsa:2048
    verifies_signer "RSA and SHA-512" sha512 rsa:2048
    verifies_signer "RSA-PSS" sha256 rsa-pss -pkeyopt rsa_keygen_bits:2048
    verifies_signer "ECDSA P-256" sha256 ec -pkeyopt ec_paramgen_curve:prime256v1
    verifies_signer "ECDSA P-384" sha384 ec -pkeyopt ec_paramgen_curve:secp384r1
    verifies_signer "Ed25519" sha512 ed25519
    finish_check
}

if section openssl socat; then keys_checks; fi
