# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Plugins of the examples whose protocols need more than one connection to one port.

examples=$here/../../docs/examples/plugins

free_port() { python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

tftp_answers() { "$smallweb" get -s -m 1 --plugin "$examples/tftp" "$url/small" >"$out" 2>&1; }

tftp_checks() {
    section in.tftpd || return 0
    mkdir -m 777 "$work/tftp"
    head -c 3000000 "$big" >"$work/tftp/large"
    printf 'hello\n' >"$work/tftp/small"
    port=$(free_port)
    start "$work/tftp.log" in.tftpd -L -c --address "127.0.0.1:$port" -s "$work/tftp"
    url=tftp://127.0.0.1:$port

    check "tftp: a file, whose blocks come from another port"
    until_true tftp_answers
    sw get --plugin "$examples/tftp" "$url/large"
    status_is 0
    out_is "$work/tftp/large"

    check "tftp: a file that is not there"
    sw get --plugin "$examples/tftp" "$url/none"
    status_is 22
    must grep -q 'File not found' "$err"

    check "tftp: an upload"
    sw put --plugin "$examples/tftp" "$url/new" "$work/tftp/large"
    status_is 0
    must cmp "$work/tftp/new" "$work/tftp/large"
}

tftp_checks
