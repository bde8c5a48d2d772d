# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Plugins of the examples whose protocols need more than one connection to one port.

examples=$here/../../docs/examples/plugins
# Those that are for these tests alone.
own=$work/own-plugins
cp -r "$here/plugins" "$own"
chmod -R go-w "$own"

free_udp_port() { python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

tftp_answers() { "$smallweb" get -s -m 1 --plugin "$examples/tftp" "$url/small" >"$out" 2>&1; }

tftp_checks() {
    section in.tftpd || return 0
    mkdir -m 777 "$work/tftp"
    head -c 3000000 "$big" >"$work/tftp/large"
    printf 'hello\n' >"$work/tftp/small"
    port=$(free_udp_port)
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

# ftp_files SERVER URL OPTION…: what holds for every server.
ftp_files() {
    local server=$1 url=$2
    shift 2
    check "ftp: $server: a directory"
    sw get --plugin "$examples/ftp" "$@" "$url/"
    status_is 0
    out_says "a b.txt"

    check "ftp: $server: 3 MB"
    sw get --plugin "$examples/ftp" "$@" "$url/large"
    status_is 0
    out_is "$work/ftp/large"

    check "ftp: $server: a name with a space"
    sw get --plugin "$examples/ftp" "$@" "$url/a%20b.txt"
    status_is 0
    out_is "$work/ftp/a b.txt"

    check "ftp: $server: a file that is not there"
    sw get --plugin "$examples/ftp" "$@" "$url/none"
    status_is 22
}

ftp_checks() {
    # The other parts have keys of 127.0.0.1, too.
    local -x SMALLWEB_KNOWN_HOSTS=$work/ftp.known_hosts
    mkdir "$work/ftp"
    head -c 3000000 "$big" >"$work/ftp/large"
    printf 'hello\n' >"$work/ftp/a b.txt"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/ftp.key" \
        -out "$work/ftp.crt" -days 30 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>"$err"
    cat "$work/ftp.key" "$work/ftp.crt" >"$work/ftp.pem"
    python=${FTP_PYTHON:-$(dirname "$JETFORCE")/python3}
    if ! "$python" -c 'import pyftpdlib, OpenSSL' 2>/dev/null; then
        missing pyftpdlib
    else
        for kind in plain tls v6; do
            start "$work/ftp.$kind" "$python" "$here/ftp-server.py" "$work/ftp" "$work/ftp.pem" "$kind"
            until_true grep -q . "$work/ftp.$kind"
        done
        ftp_files pyftpdlib "ftp://127.0.0.1:$(head -n 1 "$work/ftp.plain")"
        ftp_files "pyftpdlib over IPv6" "ftp://[::1]:$(head -n 1 "$work/ftp.v6")"
        url=ftp://me:p%40ss@127.0.0.1:$(head -n 1 "$work/ftp.tls")
        ftp_files "pyftpdlib with TLS" "$url" --ftp-tls

        check "ftp: pyftpdlib with TLS: no password in clear, and one key for both connections"
        sw get -v --plugin "$examples/ftp" --ftp-tls "$url/large"
        status_is 0
        err_lacks 'p@ss'
        must test "$(grep -c '^127.0.0.1' "$SMALLWEB_KNOWN_HOSTS")" -eq 1

        check "ftp: pyftpdlib: an upload"
        mkdir "$work/ftp/in"
        sw put --plugin "$examples/ftp" "$url/in/new" "$work/ftp/large"
        status_is 0
        must cmp "$work/ftp/in/new" "$work/ftp/large"
    fi
    section vsftpd || return 0
    port=$(free_udp_port)
    printf '%s\n' listen=YES listen_address=127.0.0.1 "listen_port=$port" anonymous_enable=YES \
        "anon_root=$work/ftp" background=NO run_as_launching_user=YES seccomp_sandbox=NO \
        "secure_chroot_dir=$work/ftp/in" >"$work/vsftpd.conf"
    mkdir -p "$work/ftp/in"
    start "$work/vsftpd.log" vsftpd "$work/vsftpd.conf"
    until_true accepts "$port"
    check "ftp: vsftpd: 3 MB"
    sw get --plugin "$examples/ftp" "ftp://127.0.0.1:$port/large"
    status_is 0
    out_is "$work/ftp/large"
}

nntp_checks() {
    local url
    for kind in honest inject; do
        start "$work/nntp.$kind" python3 "$here/nntp-server.py" "$work/ftp.pem" "--$kind"
        until_true grep -q . "$work/nntp.$kind"
    done
    url=nntp://me@127.0.0.1:$(head -n 1 "$work/nntp.honest")
    printf 'secret\n' >"$work/nntp.password"
    check "nntp: a group, with STARTTLS and a password"
    sw get -v --plugin "$examples/nntp" --nntp-password-file "$work/nntp.password" "$url/a.group"
    status_is 0
    out_says "Article 2"
    err_says "AUTHINFO PASS ***"
    err_lacks secret

    check "nntp: an article"
    sw get --plugin "$examples/nntp" --nntp-password-file "$work/nntp.password" "$url/a.group/1"
    status_is 0
    out_says ".dot 1"

    check "nntp: with authorities, a certificate of its own is refused before the password"
    mkdir -p "$work/ca"
    cp "$examples/nntp/nntp" "$work/ca"
    sed 's/"port": 119/"port": 119, "trust": "ca"/' "$examples/nntp/plugin.json" >"$work/ca/plugin.json"
    sw get -v --plugin "$work/ca" --nntp-password-file "$work/nntp.password" "$url/"
    status_is 60
    err_lacks AUTHINFO

    check "nntp: TLS does not begin twice"
    mkdir -p "$work/twice"
    cp "$examples/nntp/plugin.json" "$work/twice"
    sed 's/^\( *\)json.loads(line(6))/&\n\1event(type="starttls", connection=0)\n&/' \
        "$examples/nntp/nntp" >"$work/twice/nntp"
    chmod 755 "$work/twice" "$work/twice/nntp"
    sw get --plugin "$work/twice" "$url/"
    status_is 110
    err_says "has it already"

    check "nntp: what is injected before TLS is not taken for a reply"
    sw get --plugin "$examples/nntp" "nntp://127.0.0.1:$(head -n 1 "$work/nntp.inject")/"
    status_is 8
}

dict_checks() {
    section dictd || return 0
    python3 "$here/dict-database.py" "$work/words"
    printf '%s\n' 'access { allow 127.0.0.1 }' \
        "database words { data \"$work/words.dict\" index \"$work/words.index\" }" >"$work/dict.conf"
    # It takes no port that the system picks.
    port=$(free_udp_port)
    start "$work/dict.log" dictd -d nodetach -c "$work/dict.conf" --listen-to 127.0.0.1 -p "$port" \
        --pid-file "$work/dict.pid"
    until_true accepts "$port"
    check "dict: dictd: a word"
    sw get --plugin "$own/dict" "dict://127.0.0.1:$port/d:apple"
    status_is 0
    out_says "a fruit"

    check "dict: dictd: a word that it does not have"
    sw get --plugin "$own/dict" "dict://127.0.0.1:$port/d:pear"
    status_is 22
}

smtp_checks() {
    python=${SMTP_PYTHON:-$(dirname "$JETFORCE")/python3}
    if ! "$python" -c 'import aiosmtpd' 2>/dev/null; then
        missing aiosmtpd
        return 0
    fi
    local -x SMALLWEB_KNOWN_HOSTS=$work/smtp.known_hosts
    mkdir "$work/mail"
    start "$work/smtp.port" "$python" "$here/smtp-server.py" "$work/ftp.pem" "$work/mail"
    until_true grep -q . "$work/smtp.port"
    url=127.0.0.1:$(head -n 1 "$work/smtp.port")/ada@example.org
    printf 'Subject: hello\r\n\r\n.\r\n..\r\nlast\r\n' >"$work/mail.txt"
    check "smtp: aiosmtpd: a mail, after STARTTLS and with a password"
    sw put -v --plugin "$own/smtp" "smtp://me:p%40ss@$url" "$work/mail.txt"
    status_is 0
    must cmp "$work/mail/ada@example.org" "$work/mail.txt"
    err_lacks 'p@ss'
    err_lacks BAc3M
    err_says STARTTLS

    check "smtp: aiosmtpd: another password"
    sw put -v --plugin "$own/smtp" "smtp://me:no@$url" "$work/mail.txt"
    status_is 22
}

tftp_checks
ftp_checks
nntp_checks
dict_checks
smtp_checks
