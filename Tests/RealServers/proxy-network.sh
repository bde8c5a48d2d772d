# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Two networks, made without root. The far one has real servers on an address of its own and the
# proxies on its end of a wire; the near one has smallweb and the other end, by which everything
# goes that is not local. So what leaks around a proxy arrives, and is counted there.

# The near end, and the far one, on which the proxies listen.
near=10.77.0.2 proxy=10.77.0.1
near6=fd77::2 proxy6=fd77::1
# Where the servers are, and their name, which only the far side knows.
far=203.0.113.7 far6=2001:db8::7
microsocks=1080 microsocks_user=1081 dante=1082 dante_user=1083 ssh_socks=1084
tinyproxy=8888 tinyproxy_user=8889 tinyproxy_443=8890
squid=3128 squid_user=3129 squid_tls=3130
tls_proxy=8443 stranger_proxy=8444 elsewhere_proxy=8445
sshd=2222 socks_log=1990 silent=1999
# Like the first, but on the proxies' IPv6 address.
microsocks6=1085
# Nothing listens there, but it is a proxy's port all the same.
closed=1998
# Dante alone may be missing.
has_dante=yes
# The second has all that a URL must encode.
password=sesame-7 odd_password='sesame-7%:@/?# ü' odd_encoded='sesame-7%25%3A%40%2F%3F%23%20%C3%BC'

# far_files: what is served, and what serves it by itself.
far_files() {
    mkdir -p "$root"/{gemini,gopher,nex,web,repositories,temp,efingerd,far-home}
    printf 'beyond\n' >"$root/far-home/note"
    printf '# Far\n=> /page.gmi\n' >"$root/gemini/index.gmi"
    printf 'Grüße von drüben\n' | tee "$root/gemini/page.gmi" "$root/gopher/page.txt" \
        "$root/nex/page.txt" >"$root/web/page.txt"
    make_big "$root/web/big.bin"
    git init -q --bare "$root/repositories/far.git"
    printf 'commit refs/heads/main\ncommitter a <a@far.test> 1700000000 +0000\ndata 2\nx\n%s' \
        $'M 644 inline README\ndata 7\nbeyond\n' \
        | git -C "$root/repositories/far.git" fast-import --quiet
    git -C "$root/repositories/far.git" symbolic-ref HEAD refs/heads/main
    git -C "$root/repositories/far.git" config uploadpack.allowFilter true
    script proxies/efingerd/luser <<<"printf 'about %s\r\n' \"\$3\""
    cp "$root/efingerd/luser" "$root/efingerd/nouser"
    cp "$root/efingerd/luser" "$root/efingerd/list"
    # Titan has no server in Debian: it says what it got.
    script proxies/titan <<'END'
IFS= read -r line
size=${line##*size=} size=${size%%[!0-9]*}
printf '20 text/plain\r\n%s got: ' "${line%%;*}"
head -c "$size"
END
    # Its status is not passed on: socat would drop the rest of the reply.
    script proxies/gophernicus <<END
gophernicus -r "$root/gopher" -h far.test -p 70 -nm -nr -ns -np
exit 0
END
}

far_nginx() {
    cat >"$root/nginx.conf" <<END
daemon off;
# It has one user only.
user root;
master_process off;
pid $root/nginx.pid;
error_log $root/nginx.error;
events {}
http {
    client_body_temp_path $root/temp/body;
    proxy_temp_path $root/temp/proxy;
    fastcgi_temp_path $root/temp/fastcgi;
    uwsgi_temp_path $root/temp/uwsgi;
    scgi_temp_path $root/temp/scgi;
    access_log $root/nginx.log;
    ssl_certificate $work/far.test.crt;
    ssl_certificate_key $work/far.test.key;
    server {
        listen $far:80;
        listen [$far6]:80;
        listen $far:443 ssl http2;
        root $root/web;
        location = /to-https { return 302 https://far.test/page.txt; }
        location = /to-onion { return 302 http://hidden.onion/page.txt; }
        location = /to-address { return 302 http://$far/page.txt; }
        location = /fields {
            return 200 "\$host|\$http_proxy_authorization|\$http_user_agent\n";
        }
        location /git/ {
            rewrite ^/git(/.*)\$ \$1 break;
            fastcgi_pass unix:$root/fcgi;
            fastcgi_param SCRIPT_FILENAME $(git --exec-path)/git-http-backend;
            fastcgi_param GIT_PROJECT_ROOT $root/repositories;
            fastcgi_param GIT_HTTP_EXPORT_ALL 1;
            fastcgi_param PATH_INFO \$uri;
            fastcgi_param GIT_PROTOCOL \$http_git_protocol;
            fastcgi_param REQUEST_METHOD \$request_method;
            fastcgi_param QUERY_STRING \$query_string;
            fastcgi_param CONTENT_TYPE \$content_type;
            fastcgi_param CONTENT_LENGTH \$content_length;
            fastcgi_param REMOTE_ADDR \$remote_addr;
        }
    }
}
END
}

# tinyproxy_configuration PORT LINE…
tinyproxy_configuration() {
    printf '%s\n' "Port $1" "Listen $proxy" 'Timeout 60' 'LogLevel Connect' \
        "LogFile \"$root/tinyproxy-$1.log\"" "${@:2}" >"$root/tinyproxy-$1.conf"
}

# dante_configuration PORT METHOD
dante_configuration() {
    cat >"$root/dante-$1.conf" <<END
logoutput: $root/dante-$1.log
internal: $proxy port = $1
external: $far
external.rotation: route
clientmethod: none
socksmethod: $2
user.privileged: root
user.unprivileged: root
client pass { from: 0/0 to: 0/0 }
socks block { from: 0/0 to: 0/0 port = 7777 }
socks pass { from: 0/0 to: 0/0 command: connect }
END
}

far_proxies() {
    tinyproxy_configuration "$tinyproxy"
    tinyproxy_configuration "$tinyproxy_user" "BasicAuth ada $password"
    tinyproxy_configuration "$tinyproxy_443" 'ConnectPort 443'
    dante_configuration "$dante" none
    dante_configuration "$dante_user" username
    printf 'ada:%s\n' "$(openssl passwd -apr1 "$odd_password")" >"$root/squid.users"
    cat >"$root/squid.conf" <<END
http_port $proxy:$squid name=open
http_port $proxy:$squid_user name=closed
https_port $proxy:$squid_tls name=tls tls-cert=$work/proxy.test.crt tls-key=$work/proxy.test.key
pid_filename none
pinger_enable off
netdb_filename none
coredump_dir none
cache deny all
access_log none
cache_log $root/squid.log
hosts_file $root/far.hosts
shutdown_lifetime 0 seconds
auth_param basic program /usr/lib/squid/basic_ncsa_auth $root/squid.users
auth_param basic children 1 startup=1
auth_param basic utf8 on
acl closed myportname closed
acl user proxy_auth REQUIRED
acl denied dstdomain -n denied.test
http_access deny denied
http_access allow closed user
http_access deny closed
http_access allow all
END
    ssh-keygen -q -t ed25519 -N '' -f "$root/ssh-host"
    ssh-keygen -q -t ed25519 -N '' -f "$root/ssh-key"
    printf '[%s]:%s %s\n' "$proxy" "$sshd" "$(cut -d' ' -f1,2 "$root/ssh-host.pub")" \
        >"$root/ssh-hosts"
    cat >"$root/sshd.conf" <<END
ListenAddress $proxy:$sshd
HostKey $root/ssh-host
AuthorizedKeysFile $root/ssh-key.pub
# TMPDIR may be open to all.
StrictModes no
UsePAM no
PidFile none
END
}

# as_nobody COMMAND…: some programs refuse to be root, even such a one as there is here.
as_nobody='unshare -U --map-user=nobody --map-group=nogroup'

# far_side: the script that is the first process of the far side. All others end with it.
far_side() {
    # Dante asks the system for its users.
    printf '%s\n' root:x:0:0::/:/bin/false nobody:x:65534:65534::/:/bin/false \
        ada:x:1000:1000::/:/bin/false >"$root/passwd"
    printf 'ada:%s:20000::::::\n' "$(openssl passwd -6 "$password")" >"$root/shadow"
    printf '127.0.0.1 localhost\n%s far.test\n%s six.test\n%s denied.test\n' \
        "$far" "$far6" "$far" >"$root/far.hosts"
    printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' >"$root/far.resolver"
    printf '127.0.0.1 localhost\n%s proxy.test\n%s proxy.test dual.test\n%s dual.test\n' \
        "$proxy" "$proxy" "$proxy6" >"$root/near.hosts"
    printf 'nameserver %s\noptions timeout:1 attempts:1\n' "$proxy" >"$root/near.resolver"
    echo 'hosts: files dns' >"$root/nsswitch"
    # Of the servers that speak SOCKS 4A, which Dante does not, ssh is the one in daily use.
    ssh=(ssh -F none -i "$root/ssh-key" -o "UserKnownHostsFile=$root/ssh-hosts"
        -o GlobalKnownHostsFile=none -o BatchMode=yes -o LogLevel=ERROR -p "$sshd")
    script proxies/near.run <<END
mount --bind "$root/near.hosts" /etc/hosts
mount --bind "$root/near.resolver" /etc/resolv.conf
ip link set lo up
# Of the network namespace, whatever /proc says of the other numbers.
read -r pid _ </proc/self/stat
echo "\$pid" >"$root/near.pid"
exec sleep infinity
END
    script proxies/far.run <<END
set -eu
serve() { "\${@:2}" >"$root/\$1.log" 2>&1 </dev/null & }
# squid leaves its memory there when it is killed.
mount -t tmpfs tmpfs /dev/shm
mount --bind "$root/far.hosts" /etc/hosts
mount --bind "$root/far.resolver" /etc/resolv.conf
mount --bind "$root/nsswitch" /etc/nsswitch.conf
mount --bind "$root/efingerd" /etc/efingerd
mount --bind "$root/passwd" /etc/passwd
mount --bind "$root/shadow" /etc/shadow
ip link set lo up
ip address add $far/32 dev lo
ip address add $far6/128 dev lo nodad
serve near unshare -n -m "$root/near.run"
until [ -s "$root/near.pid" ]; do sleep 0.01; done
# Not by a number: /proc has others, where ip looks first.
ip link add far type veth peer name near netns "/proc/\$(cat "$root/near.pid")/ns/net"
ip address add $proxy/24 dev far
ip address add $proxy6/64 dev far nodad
ip link set far up
nsenter -t "\$(cat "$root/near.pid")" -n bash -e <<'THERE'
ip address add $near/24 dev near
ip address add $near6/64 dev near nodad
ip link set near up
ip route add default via $proxy
ip route add default via $proxy6
THERE
serve counter python3 "$here/proxy-servers.py" far $proxy,$proxy6 \
    $(proxy_ports | tr '\n' ,)$closed,$microsocks6 "$root"

serve nginx nginx -e "$root/nginx.error" -p "$root/" -c "$root/nginx.conf"
serve fcgiwrap fcgiwrap -c 2 -s "unix:$root/fcgi"
serve jetforce "$JETFORCE" --host $far --port 1965 --hostname far.test --dir "$root/gemini" \
    --tls-certfile "$work/far.test.crt" --tls-keyfile "$work/far.test.key"
serve nex "$SMOLSERVE" --host $far --no-gemini --no-gopher --no-finger --no-spartan \
    --nex-port 1900 --nex-root "$root/nex"
serve titan socat "OPENSSL-LISTEN:1966,bind=$far,fork,verify=0,cert=$work/titan.pem" \
    "EXEC:$root/titan"
serve gopher socat "TCP-LISTEN:70,bind=$far,fork" "EXEC:$root/gophernicus"
serve finger socat "TCP-LISTEN:79,bind=$far,fork" "EXEC:efingerd -n -u,nofork"
serve git "$(git --exec-path)/git-daemon" --listen=$far --export-all \
    --base-path="$root/repositories"

serve microsocks microsocks -i $proxy -p $microsocks
serve microsocks-user microsocks -i $proxy -p $microsocks_user -u ada -P '$odd_password'
serve microsocks-6 microsocks -i $proxy6 -p $microsocks6
if [ -n "$has_dante" ]; then
    serve dante danted -f "$root/dante-$dante.conf" -p "$root/dante.pid"
    serve dante-user danted -f "$root/dante-$dante_user.conf" -p "$root/dante-user.pid"
fi
serve tinyproxy tinyproxy -d -c "$root/tinyproxy-$tinyproxy.conf"
serve tinyproxy-user tinyproxy -d -c "$root/tinyproxy-$tinyproxy_user.conf"
serve tinyproxy-443 tinyproxy -d -c "$root/tinyproxy-$tinyproxy_443.conf"
serve squid $as_nobody squid -N -f "$root/squid.conf"
serve sshd $as_nobody "$(command -v sshd)" -D -e -f "$root/sshd.conf"
serve ssh-socks bash -c 'until "\$@"; do sleep 0.02; done' - \
    ${ssh[*]} -N -D $proxy:$ssh_socks "nobody@$proxy"
while read -r port certificate; do
    serve "tls-\$port" socat -b 65536 \
        "OPENSSL-LISTEN:\$port,bind=$proxy,fork,verify=0,cert=$work/\$certificate.pem" \
        TCP:$proxy:$tinyproxy
done <<'THERE'
$tls_proxy proxy.test
$stranger_proxy proxy.strange
$elsewhere_proxy elsewhere.test
THERE
wait
END
}

proxy_ports() {
    printf '%s\n' $microsocks $microsocks_user ${has_dante:+$dante $dante_user} $ssh_socks \
        $tinyproxy $tinyproxy_user $tinyproxy_443 $squid $squid_user $squid_tls $tls_proxy \
        $stranger_proxy $elsewhere_proxy $sshd $socks_log $silent
}

# is_left_out WORD…: whether a word is about a proxy that is not installed.
is_left_out() {
    [ -z "$has_dante" ] && [[ " $* " == *":$dante "* || " $* " == *":$dante_user "* ]]
}

# far_accepts ADDRESS PORT: whether it accepts a connection from the far side itself.
far_accepts() { "${on_far[@]}" bash -c "exec 3<>/dev/tcp/$1/$2"; }

# start_network: sets $network, the process of the far side, and the commands $on_far and $on_near
# that run others there.
start_network() {
    local port
    mkdir -p "$root"
    authority proxy-authority
    authority proxy-stranger
    signed far.test proxy-authority "DNS:far.test,IP:$far"
    signed proxy.test proxy-authority "DNS:proxy.test,IP:$proxy"
    signed proxy.strange proxy-stranger "DNS:proxy.test,IP:$proxy"
    signed elsewhere.test proxy-authority DNS:elsewhere.test
    for port in proxy.test proxy.strange elsewhere.test; do
        cat "$work/$port.crt" "$work/$port.key" >"$work/$port.pem"
    done
    subject=far.test certificate titan
    far_files
    far_nginx
    far_proxies
    far_side
    : >"$root/packets"
    : >"$root/users"
    mkfifo "$root/marks" "$root/marker"
    exec {marks}<>"$root/marks" {marker}<>"$root/marker"
    check "proxies: the two networks"
    # The first process of its namespace takes all others with it.
    start "$root/log" unshare -r -n -m -p --fork --kill-child "$root/far.run"
    network=$server
    until_true test -s "$root/near.pid" || return
    on_far=(nsenter -t "$network" -U --preserve-credentials -n -m "--wd=$work")
    on_near=(nsenter -t "$(cat "$root/near.pid")" -U --preserve-credentials -n -m "--wd=$work")
    stdin=$root/marker start "$root/marker.log" "${on_near[@]}" bash -c \
        "while read -r mark; do echo \"\$mark\" >/dev/udp/$proxy/9; done"
    for port in {70,79,80,443,1900,1965,1966,9418}:$far $(proxy_ports | sed "s/$/:$proxy/") \
        "$microsocks6:$proxy6"; do
        until_true far_accepts "${port#*:}" "${port%%:*}" && continue
        tail -n 2 "$root"/log "$root"/*.log >"$err"
        return 1
    done
}

# settle: waits until all packets are counted that have been sent.
settle() {
    local mark=$RANDOM line=''
    echo "$mark" >&"$marker"
    until [ "$line" = "$mark" ]; do
        read -r -t 10 line <&"$marks" || { problem "the counter counts"; return; }
    done
}
