# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Proxies that refuse, are silent or are not there; what never goes without one; commands in the
# place of a proxy. For proxies.sh, which has the two networks.

# refused NAME STATUS WORDS PROXY URL…: each URL fails for that reason, and nothing leaks.
refused() {
    local url
    ! is_left_out "$@" || return 0
    for url in "${@:5}"; do
        check "proxies: $1: $url"
        via get -v -x "$4" "$url"
        status_is "$2"
        out_is_empty
        grep -qaiE -e "$3" "$err" || problem "stderr has $3"
        hides
    done
}

proxy_refusals() {
    local page=gemini://far.test/page.gmi secure=https://far.test/page.txt url way limit
    # What asks an HTTP proxy to connect, and what asks it to fetch.
    local tunnels=("$page" gopher://far.test/0/page.txt git://far.test/far.git// "$secure")
    local requests=(git+http://far.test/git/far.git// http://far.test/page.txt)
    local urls=("${tunnels[@]}" "${requests[@]}")

    refused "microsocks wants a user" 97 'user' "socks5h://$proxy:$microsocks_user" \
        "${urls[@]}"
    refused "Dante wants a user" 97 'user' "socks5h://$proxy:$dante_user" "$page" "$secure"
    refused "a wrong password for microsocks" 97 'user|password|auth' \
        "socks5h://ada:$password@$proxy:$microsocks_user" "${urls[@]}"
    refused "a wrong password for Dante" 97 'user|password|auth' \
        "socks5h://ada:$odd_encoded@$proxy:$dante_user" "$page" "$secure"
    refused "tinyproxy wants a user" 97 407 "http://$proxy:$tinyproxy_user" "${urls[@]}"
    refused "squid wants a user" 97 407 "http://$proxy:$squid_user" "${urls[@]}"
    # It speaks as if it were the server.
    refused "a wrong password for tinyproxy" 97 '401 Unauthorized' \
        "http://ada:$odd_encoded@$proxy:$tinyproxy_user" "${tunnels[@]}"
    refused "a wrong password for tinyproxy" 22 '401 Unauthorized' \
        "http://ada:$odd_encoded@$proxy:$tinyproxy_user" "${requests[@]}"
    refused "a wrong password for squid" 97 407 "http://ada:$password@$proxy:$squid_user" \
        "${urls[@]}"

    refused "tinyproxy connects to 443 only" 97 '403.*(Access violation|Forbidden)' \
        "http://$proxy:$tinyproxy_443" gemini://far.test/ gopher://far.test/ \
        git://far.test/far.git// git+https://far.test:444/far.git//
    refused "squid denies a host" 97 '403.*Forbidden' "http://$proxy:$squid" \
        gemini://denied.test/ finger://denied.test/ https://denied.test/
    refused "Dante denies a port" 97 'ruleset|not allowed' "socks5h://$proxy:$dante" \
        gemini://far.test:7777/ http://far.test:7777/
    refused "Dante does not speak SOCKS 4A" 97 'rejected|91' "socks4a://$proxy:$dante" \
        "$page" "$secure"
    refused "nothing listens behind microsocks" 97 'refused' "socks5h://$proxy:$microsocks" \
        gemini://far.test:1/ http://far.test:1/
    refused "microsocks does not know the name" 97 'socks' "socks5h://$proxy:$microsocks" \
        gemini://unknown.test/ https://unknown.test/
    refused "tinyproxy does not know the name" 97 '50[0-9]' "http://$proxy:$tinyproxy" \
        gemini://unknown.test/ https://unknown.test/
    refused "squid does not know the name" 97 '50[0-9]' "http://$proxy:$squid" \
        gemini://unknown.test/ https://unknown.test/
    refused "SOCKS to what is not a proxy" 97 'socks' "socks5h://$proxy:$sshd" "$page" "$secure"
    refused "HTTP to what is not a proxy" 97 'proxy' "http://$proxy:$sshd" "$page" "$secure"
    refused "HTTP to a SOCKS proxy" 97 'proxy' "http://$proxy:$microsocks" "${tunnels[@]}"
    refused "a request to a SOCKS proxy" 8 '' "http://$proxy:$microsocks" "${requests[@]}"

    refused "the proxy's port is closed" 7 "$proxy:$closed" "socks5h://$proxy:$closed" "${urls[@]}"
    refused "the proxy's port is closed, HTTP" 7 "$proxy:$closed" "http://$proxy:$closed" \
        "${urls[@]}"
    for url in "$page" "$secure" http://far.test/page.txt; do
        for way in socks5h http; do
            check "proxies: the name of the $way proxy is unknown: $url"
            near get -x "$way://nowhere.test:1080" "$url"
            status_is 5
            err_says nowhere.test
            must_not grep -qv 'look-up of nowhere.test' "$root/packets"

            check "proxies: a silent $way proxy: $url"
            limit=--connect-timeout
            # Without a handshake the reply may take as long as that of any server.
            [ "$way-$url" != http-http://far.test/page.txt ] || limit=-m
            via get "$limit" 0.3 -x "$way://$proxy:$silent" "$url"
            status_is 28
        done
        check "proxies: a silent https proxy: $url"
        via get --connect-timeout 0.3 -x "https://$proxy:$silent" "$url"
        status_is 28

        for way in "$stranger_proxy" "$elsewhere_proxy"; do
            check "proxies: the certificate of https://proxy.test:$way: $url"
            via get -x "https://proxy.test:$way" "$url"
            status_is 60
            check "proxies: the certificate of https://proxy.test:$way, with -k: $url"
            via get -k -x "https://proxy.test:$way" "$url"
            status_is 60
        done
    done

    check "proxies: credentials in a file"
    printf 'ada:%s\n' "$odd_password" >"$root/credentials"
    for url in "$page" "$secure"; do
        for way in "socks5h://$proxy:$microsocks_user" "http://$proxy:$squid_user"; do
            via get -v -x "$way" --proxy-auth "$root/credentials" "$url"
            status_is 0
            hides
        done
    done
    check "proxies: wrong credentials in a file"
    printf 'ada:%s\n' "$password" >"$root/credentials"
    for url in "$page" "$secure"; do
        for way in "socks5h://$proxy:$microsocks_user" "http://$proxy:$squid_user"; do
            via get --json -x "$way" --proxy-auth "$root/credentials" "$url"
            status_is 97
            json_is .outcome proxy
            hides
        done
    done
}

# Names of hidden networks are for their proxy only, whatever is exempt from it.
proxy_hidden_services() {
    local scheme host lower options url
    for host in hidden.onion HIDDEN.ONION. a.b.i2p; do
        for scheme in gemini gopher finger nex git http https; do
            url=$scheme://$host/
            [ "$scheme" != git ] || url=git://$host/far.git//README
            check "proxies: $url without a proxy"
            via get --json "$url"
            status_is 7
            must jq -e '.error.hint != null' "$out"
            ALL_PROXY=socks5h://$proxy:$socks_log NO_PROXY='*' via get "$url"
            status_is 7
            ALL_PROXY=socks5h://$proxy:$socks_log via get --proxy '' "$url"
            status_is 7
            via get -x "socks5h://$proxy:$socks_log" --noproxy '*' "$url"
            status_is 7
        done
        check "proxies: $host through its proxy"
        lower=${host,,}
        for options in "socks5h://$proxy:$socks_log" "socks5://$proxy:$socks_log"; do
            : >"$root/users"
            via get -x "$options" "gopher://$host/0/page.txt" "http://$host/page.txt"
            status_is 0
            must test "$(cut -d' ' -f2 "$root/users" | sort -u | sed 's/[.]$//')" \
                = "${lower%.}"
        done
    done

    check "proxies: a redirect to hidden.onion is not followed without a proxy"
    near get "http://$far/to-onion"
    status_is 7
    leaks "tcp $far 80"
    must_not grep -qvxF "tcp $far 80" "$root/packets"

    check "proxies: hidden.onion with --resolve goes there"
    near get --resolve "hidden.onion:70:$far" gopher://hidden.onion/0/page.txt
    status_is 0
    leaks "tcp $far 70"
}

# users_of WAY OPTION… -- URL…: sets $users to the SOCKS user of each connection, in order.
users_of() {
    : >"$root/users"
    via get "$@"
    status_is 0
    mapfile -t users < <(cut -d' ' -f1 "$root/users")
}

proxy_isolation() {
    local way=socks5h://$proxy:$socks_log users
    local places=(gopher://far.test/0/page.txt http://far.test/page.txt)
    local six=http://six.test/page.txt

    check "proxies: users are not named without --isolate"
    users_of -x "$way" "${places[@]}" "$six"
    [ "${users[*]}" = '- - -' ] || problem "no user, not ${users[*]}"

    check "proxies: --isolate has one user for a host"
    users_of --isolate -x "$way" "${places[@]}" "$six" "${places[0]}"
    [ "${#users[@]}" -ge 3 ] || problem "connections"
    must_not grep -q '^- ' "$root/users"
    [ "$(cut -d' ' -f1,2 "$root/users" | sort -u | wc -l)" -eq 2 ] || problem "one user for a host"
    [ "$(cut -d' ' -f1 "$root/users" | sort -u | wc -l)" -eq 2 ] || problem "two users"

    check "proxies: --isolate has one user for a host, in parallel"
    users_of -j 4 --isolate -x "$way" "${places[@]}" "$six" "${places[@]}" "$six"
    [ "$(cut -d' ' -f1,2 "$root/users" | sort -u | wc -l)" -eq 2 ] || problem "one user for a host"
    [ "$(cut -d' ' -f1 "$root/users" | sort -u | wc -l)" -eq 2 ] || problem "two users"

    check "proxies: tor:// isolates"
    users_of -x "tor://$proxy:$socks_log" "${places[0]}" "$six"
    must_not grep -q '^- ' "$root/users"
    [ "$(cut -d' ' -f1 "$root/users" | sort -u | wc -l)" -eq 2 ] || problem "two users"

    check "proxies: .onion is isolated"
    users_of -x "$way" gopher://a.onion/0/page.txt http://b.onion/page.txt
    must_not grep -q '^- ' "$root/users"
    [ "$(cut -d' ' -f1 "$root/users" | sort -u | wc -l)" -eq 2 ] || problem "two users"

    check "proxies: .onion with credentials is not"
    users_of -x "socks5h://ada:$password@$proxy:$socks_log" gopher://a.onion/0/page.txt
    [ "${users[*]}" = ada ] || problem "the user ada, not ${users[*]}"

    refused_isolation "${places[@]}" https://far.test/page.txt
}

refused_isolation() {
    local url
    for url in "$@"; do
        check "proxies: --isolate where microsocks has no users: $url"
        via get --isolate -x "socks5h://$proxy:$microsocks" "$url"
        status_is 97
        out_is_empty
        via get -x "tor://$proxy:$microsocks" "$url"
        status_is 97
    done
}

# A command in the place of the connection.
proxy_commands() {
    local line url number words
    printf -v line ' %q' "${ssh[@]}" -W %h:%p "nobody@$proxy"
    each_target 'ssh -W' --proxy-command "${line# }"
    # From 1.8 on, socat writes a warning when it is ended.
    each_target 'socat by tinyproxy' --proxy-command \
        "exec socat -lf /dev/null - PROXY:$proxy:%h:%p,proxyport=$tinyproxy"

    check "proxies: socat - TCP:%h:%p goes where it says"
    near get --proxy-command 'socat -lf /dev/null - TCP:%h:%p' "gopher://$far/0/page.txt" \
        "http://$far/page.txt"
    status_is 0
    leaks "tcp $far 70"
    leaks "tcp $far 80"

    for line in false 'exit 3' 'kill -9 $$' "$root/no-such-command"; do
        for url in gemini://far.test/ http://far.test/ https://far.test/; do
            check "proxies: the command '$line': $url"
            via get --proxy-command "$line" "$url"
            status_is 97
            out_is_empty
        done
    done

    # Whether that is read or written into comes by chance.
    check "proxies: a command that ends without a word"
    for url in gopher://far.test/ http://far.test/; do
        via get --proxy-command true "$url"
        [ "$status" -ne 0 ] || problem "an exit status"
        out_is_empty
    done

    check "proxies: a command gets %h, %p and %%"
    via get --proxy-command "echo %h %p %% >'$root/said'; false" gemini://far.test:1234/
    status_is 97
    must test "$(cat "$root/said")" = 'far.test 1234 %'

    check "proxies: a host that is an option"
    via get --proxy-command "touch '$root/ran'" gemini://-oProxyCommand=x/
    status_is 3
    must_not test -e "$root/ran"

    check "proxies: a silent command"
    via get --connect-timeout 0.3 --proxy-command 'sleep 60' gemini://far.test/
    status_is 28

    for url in gemini://far.test/page.gmi http://far.test/page.txt; do
        check "proxies: the command and its children end with the fetch: $url"
        rm -f "$root/pids"
        via get --proxy-command "echo \$\$ >>'$root/pids'; sleep 120 & echo \$! >>'$root/pids'
            socat -lf /dev/null - PROXY:$proxy:%h:%p,proxyport=$tinyproxy" "$url"
        status_is 0
        all_have_ended 2
    done
    for number in INT TERM; do
        check "proxies: the command and its children end with SIG$number"
        rm -f "$root/pids"
        env --default-signal "$smallweb" get \
            --proxy-command "echo \$\$ >>'$root/pids'; sleep 120 & echo \$! >>'$root/pids'; wait" \
            gemini://far.test/ >"$out" 2>"$err" &
        words=$!
        servers+=("$words")
        until_true has_lines 2 "$root/pids"
        kill "-$number" "$words"
        wait "$words"
        status=$?
        [ "$status" -ge 130 ] || problem "the status of a signal"
        all_have_ended 2
    done
}

has_lines() { [ "$(wc -l <"$2")" -ge "$1" ]; }
# all_have_ended COUNT: as many processes as $root/pids has.
all_have_ended() {
    local pid
    has_lines "$1" "$root/pids" || problem "$1 processes began"
    while read -r pid; do
        eventually is_over "$pid" && continue
        problem "process $pid has ended"
        stop "$pid"
    done <"$root/pids"
}

# is_over PID: it has ended, even if the first process is slow to take note.
is_over() {
    local state=Z
    { read -r _ _ state _ <"/proc/$1/stat"; } 2>/dev/null
    [ "$state" = Z ]
}

# What strace sees: one kind of socket, and one place that it is connected to.
proxy_calls() {
    local words port way trace=$root/trace smallweb=$work/traced
    local to='connect\([0-9]+, \{sa_family=AF_INET,'
    # Connections, what is sent on one, and what stays within the process.
    cat >"$root/own-calls" <<'END'
socket\(AF_INET, SOCK_STREAM
send(to|msg)\([0-9]+, .*NULL
socket\(AF_UNIX
(bind|connect)\([0-9]+, \{sa_family=AF_UNIX(, sun_path=(@|"[^"]*/smallweb-\w+/s")|\})
END
    {
        printf '#!/bin/bash\nexec'
        printf ' %q' "${on_near[@]}" strace -f -e trace=network -o "$trace" "$outer"
        printf ' "$@"\n'
    } >"$smallweb"
    chmod 755 "$smallweb"
    for way in "socks5h $microsocks" "http $tinyproxy"; do
        port=${way#* }
        for url in "${targets[@]}"; do
            read -ra words <<<"$url"
            check "proxies: the system calls of ${words[*]:0:2} through ${way% *}"
            via "${words[0]}" -x "${way% *}://$proxy:$port" "${words[@]:1}"
            status_is 0
            grep -E '(socket|connect|sendto|sendmsg|sendmmsg|bind)\(' "$trace" \
                | grep -vE -f "$root/own-calls" -e "$to.*htons\($port\), .*\"$proxy\"" \
                    >"$root/calls"
            [ ! -s "$root/calls" ] || problem "only the proxy: $(head -n 5 "$root/calls")"
            must grep -q "connect(.*htons($port)" "$trace"
        done
    done
}
