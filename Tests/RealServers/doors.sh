# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Plugins of the examples whose protocols need more than one connection to one port.

examples=$plugins
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
    random_bytes 3000000 >"$work/tftp/large"
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

    check "ftp: $server: the rest of 3 MB"
    head -c 1000000 "$work/ftp/large" >"$work/ftp.part"
    sw get -v --plugin "$examples/ftp" "$@" -C - -o "$work/ftp.part" "$url/large"
    status_is 0
    err_says 'REST 1000000'
    must cmp "$work/ftp.part" "$work/ftp/large"
    sw get --plugin "$examples/ftp" "$@" -C 3000001 "$url/large"
    status_is 22
    out_is_empty

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
    random_bytes 3000000 >"$work/ftp/large"
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
    free_port
    printf '%s\n' listen=YES listen_address=127.0.0.1 "listen_port=$port" anonymous_enable=YES \
        "anon_root=$work/ftp" background=NO run_as_launching_user=YES seccomp_sandbox=NO \
        "secure_chroot_dir=$work/ftp/in" >"$work/vsftpd.conf"
    mkdir -p "$work/ftp/in"
    start "$work/vsftpd.log" vsftpd "$work/vsftpd.conf"
    comes_up "ftp: vsftpd" "$work/vsftpd.log" "$port"
    ftp_files vsftpd "ftp://127.0.0.1:$port"

    # It wants the data connection to resume the session of the control connection.
    free_port
    sed "s/^listen_port=.*/listen_port=$port/" "$work/vsftpd.conf" >"$work/vsftpd-tls.conf"
    printf '%s\n' ssl_enable=YES allow_anon_ssl=YES force_anon_data_ssl=YES \
        force_anon_logins_ssl=YES require_ssl_reuse=YES "rsa_cert_file=$work/ftp.pem" \
        ssl_ciphers=HIGH >>"$work/vsftpd-tls.conf"
    start "$work/vsftpd-tls.log" vsftpd "$work/vsftpd-tls.conf"
    comes_up "ftp: vsftpd with TLS" "$work/vsftpd-tls.log" "$port"
    ftp_files "vsftpd with TLS" "ftp://127.0.0.1:$port" --ftp-tls
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

# The package nntpserver has neither STARTTLS nor CAPABILITIES for it.
nntp_library_checks() {
    local url
    start "$work/nntp.library" "$(dirname "$JETFORCE")/python" "$here/nntp-library.py"
    until_true grep -q . "$work/nntp.library"
    url=127.0.0.1:$(head -n 1 "$work/nntp.library")
    check "nntpserver: its groups"
    sw get --plugin "$examples/nntp" "nntp://$url/"
    status_is 0
    out_is_text "$(printf '/a.group\ta.group')"

    check "nntpserver: the articles of a group"
    sw get --plugin "$examples/nntp" "nntp://$url/a.group"
    status_is 0
    out_is_text "$(printf '/a.group/%s\tArticle %s\n' 7 7 8 8 10 10)"

    check "nntpserver: an article"
    sw get --plugin "$examples/nntp" "nntp://$url/a.group/8"
    status_is 0
    tr -d '\r' <"$out" | tail -n 4 >"$work/nntp.body"
    must cmp "$work/nntp.body" <(printf '.dot\n..two\n\nGrüße\n')

    check "nntpserver: an article that it does not have"
    sw get --plugin "$examples/nntp" "nntp://$url/a.group/9"
    status_is 22

    check "nntpserver: a password does not go to a server without TLS"
    sw get -v --plugin "$examples/nntp" --nntp-password-file "$work/nntp.password" "nntp://me@$url/"
    status_is 35
    err_says "no password goes out in clear"
    err_lacks AUTHINFO
}

dict_checks() {
    section dictd || return 0
    python3 "$here/dict-database.py" "$work/words"
    printf '%s\n' 'access { allow 127.0.0.1 }' \
        "database words { data \"$work/words.dict\" index \"$work/words.index\" }" >"$work/dict.conf"
    # It takes no port that the system picks.
    free_port
    start "$work/dict.log" dictd -d nodetach -c "$work/dict.conf" --listen-to 127.0.0.1 -p "$port" \
        --pid-file "$work/dict.pid"
    comes_up "dict: dictd" "$work/dict.log" "$port"

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

# A program that opens a URL from one without a host reaches no private address. So the gateway is in a
# network of its own, where it has one of the internet's.
doi_gateway() {
    local root=$work/doi
    mkdir -p "$root/temp"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$root/ca.key" \
        -out "$root/ca.crt" -days 30 -subj "/CN=An authority" 2>"$err"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$root/site.key" \
        -out "$root/site.crt" -days 30 -subj /CN=doi.org -CA "$root/ca.crt" -CAkey "$root/ca.key" \
        -addext subjectAltName=DNS:doi.org -addext basicConstraints=critical,CA:false 2>"$err"
    cat >"$root/nginx.conf" <<END
daemon off;
user root;
master_process off;
pid $root/pid;
error_log stderr;
events { }
http {
    access_log $root/access.log;
    client_body_temp_path $root/temp/body;
    proxy_temp_path $root/temp/proxy;
    fastcgi_temp_path $root/temp/fastcgi;
    uwsgi_temp_path $root/temp/uwsgi;
    scgi_temp_path $root/temp/scgi;
    server {
        listen $gateway:443 ssl;
        ssl_certificate $root/site.crt;
        ssl_certificate_key $root/site.key;
        default_type application/json;
        location = /api/handles/10.1000/182 {
            return 200 '{"values":[{"type":"URL","data":{"value":"https://there.example/182"}}]}';
        }
        location = /api/handles/10.1000/moved { return 302 182; }
        location = /api/handles/10.1000/away { return 302 https://$gateway/api/handles/10.1000/182; }
        location = /api/handles/10.1000/busy { return 503; }
    }
}
END
    start "$root/log" unshare --map-root-user --net sh -c \
        "ip link set lo up && ip address add $gateway/32 dev lo && exec nginx -p $root -c $root/nginx.conf"
    script doi/smallweb <<END
exec nsenter --preserve-credentials -U -n -t $server "$smallweb" "\$@"
END
}

doi_answers() {
    nsenter --preserve-credentials -U -n -t "$server" bash -c "exec 3<>/dev/tcp/$gateway/443"
}

doi_checks() {
    section nginx nsenter ip unshare || return 0
    unshare --map-root-user --net true 2>/dev/null || { skip "doi: its gateway needs a namespace"; return; }
    local gateway=203.0.113.7
    doi_gateway
    local smallweb=$work/doi/smallweb
    local -x SSL_CERT_FILE=$work/doi/ca.crt
    local options=(--plugin "$examples/doi" --resolve "doi.org:443:$gateway")
    check "doi: smallweb asks the gateway"
    until_true doi_answers
    sw get -v "${options[@]}" doi:10.1000/182
    status_is 0
    out_says '=> https://there.example/182'
    err_says 'GET /api/handles/10.1000/182'

    check "doi: a redirect within what it may open"
    sw get --json "${options[@]}" doi:10.1000/moved
    status_is 0
    out_says 'https://there.example/182'
    out_says '"program":{"connections":1}'

    check "doi: a redirect to another host"
    sw get "${options[@]}" doi:10.1000/away
    status_is 102
    err_says 'may not open'

    check "doi: what the gateway does not know, and one that is busy"
    sw get "${options[@]}" doi:10.1000/none
    status_is 22
    err_says 'no such DOI'
    sw get "${options[@]}" doi:10.1000/busy
    status_is 75

    check "doi: a gateway with another key, and one at a private address"
    SSL_CERT_FILE=/dev/null sw get "${options[@]}" doi:10.1000/182
    status_is 60
    sw get --plugin "$examples/doi" --resolve doi.org:443:127.0.0.1 doi:10.1000/182
    status_is 7
    err_says 'private address'
    must test "$(grep -c none "$work/doi/access.log")" -eq 1
}

# STARTTLS on a connection that a program has opened.
second_checks() {
    local folder=$work/second
    mkdir "$folder"
    cat >"$folder/plugin.json" <<'END'
{"v": 1, "name": "second", "program": ["./second"], "connections": 2, "answers": true,
 "opens": ["tcp://{host}:*"],
 "schemes": [{"name": "second", "port": 119, "transport": "tcp", "server_first": true}]}
END
    cat >"$folder/second" <<'END'
#!/bin/sh
read -r greeting
echo "{\"type\":\"open\",\"connection\":1,\"url\":\"tcp://$SMALLWEB_HOST:$SMALLWEB_PORT\"}" >&3
read -r opened <&6 && read -r greeting <&7
printf 'STARTTLS\r\n' >&8 && read -r agreed <&7
echo '{"type":"starttls","connection":1}' >&3
read -r secured <&6 && printf 'QUIT\r\n' >&8
# The server closes without close_notify.
echo '{"type":"end","complete":true}' >&3
printf '%s\n' "$agreed" "$secured" >&4
END
    chmod +x "$folder/second"
    check "starttls on the second connection"
    sw get --plugin "$folder" "second://127.0.0.1:$(head -n 1 "$work/nntp.honest")/"
    status_is 0
    out_says '{"connection":1,"ok":true'
    check "starttls on the second connection, before which something is injected"
    sw get --plugin "$folder" "second://127.0.0.1:$(head -n 1 "$work/nntp.inject")/"
    status_is 8
}

tftp_checks
ftp_checks
nntp_checks
nntp_library_checks
dict_checks
smtp_checks
second_checks
doi_checks
