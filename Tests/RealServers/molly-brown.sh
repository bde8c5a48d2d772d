# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Molly Brown binds every interface, so it runs in a network namespace that has only loopback.

molly_brown_checks() {
    local root=$work/molly place=gemini://localhost:1999 outer=$smallweb
    cp -rl "$work/files" "$root"
    mkdir "$root/secret"
    echo hidden >"$root/secret/page.gmi"
    certificate molly
    cat >"$work/molly.conf" <<END
Port = 1999
Hostname = "localhost"
CertPath = "$work/molly.crt"
KeyPath = "$work/molly.key"
DocBase = "$root"
AccessLog = "-"
ErrorLog = "-"
[TempRedirects]
"^/old\$" = "/text.txt"
"^/loop\$" = "/loop"
[CertificateZones]
"^/secret/" = ["0000000000000000000000000000000000000000000000000000000000000000"]
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
    err_says 'client certificate'

    check "molly-brown: not found"
    sw get "$place/missing"
    status_is 22

    get_big "$place/big.bin" molly-brown
    finish_check
    smallweb=$outer
    stop "$server"
    rm -r "$root"
}

if section openssl molly-brown unshare nsenter ip; then
    if find_namespaces; then molly_brown_checks; else skip "molly-brown needs a network namespace"; fi
fi
