# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Every scheme through real proxies, and each packet counted that goes elsewhere than to the proxy.

# What is fetched, and how.
targets=(
    'get gemini://far.test/page.gmi'
    'get gopher://far.test/0/page.txt'
    'get finger://far.test/ada'
    'get nex://far.test/page.txt'
    'get git://far.test/far.git//README'
    'refs git://far.test/far.git'
    'get git+http://far.test/git/far.git//README'
    'get git+https://far.test/git/far.git//README'
    'get http://far.test/page.txt'
    'links gemini://far.test/'
    'get https://far.test/page.txt'
    "put titan://far.test:1966/upload $work/files/text.txt"
)

# near ARGUMENT…: runs smallweb on the near side; $root/packets has what did not go to a proxy.
near() {
    settle
    : >"$root/packets"
    sw "$@"
    settle
}

# via ARGUMENT…: as near, and nothing may leak.
via() {
    near "$@"
    leaks_nothing
}

leaks_nothing() {
    [ ! -s "$root/packets" ] || problem "no packet but to the proxy: $(sort -u "$root/packets")"
}
# leaks LINE: so the counter counts.
leaks() { grep -qxF -e "$1" "$root/packets" || problem "a packet is counted: $1"; }
json_is() { [ "$(jq -r "$1" "$out")" = "$2" ] || problem "$1 is $2"; }
# hides: nothing that is shown has the password, as it is, encoded or in a field of HTTP.
hides() {
    local secret
    for secret in "$password" "$(printf 'ada:%s' "$password" | base64)" \
        "$(printf 'ada:%s' "$odd_password" | base64)"; do
        if grep -qraF -e "$secret" "$out" "$err" "$XDG_STATE_HOME" 2>/dev/null; then
            problem "$secret is shown"
        fi
    done
}

# each_target PROXY OPTION…: all of them through one proxy.
each_target() {
    local number words
    ! is_left_out "$@" || return 0
    for number in "${!targets[@]}"; do
        read -ra words <<<"${targets[number]}"
        check "proxies: ${words[*]:0:2} through $1"
        via "${words[0]}" "${@:2}" "${words[@]:1}"
        status_is 0
        out_is "$root/wanted.$number"
        err_is_empty
        hides
    done
}

# Without a proxy, on the far side: what all must be like.
proxy_references() {
    local number words smallweb=$work/far-side
    for number in "${!targets[@]}"; do
        read -ra words <<<"${targets[number]}"
        check "proxies: ${words[*]:0:2} on the far side"
        sw "${words[@]}"
        status_is 0
        err_is_empty
        must test -s "$out"
        cp "$out" "$root/wanted.$number"
    done
}

proxy_counter() {
    check "proxies: a look-up is counted"
    near get gemini://far.test/page.gmi
    status_is 6
    leaks "udp $proxy 53 look-up of far.test"

    check "proxies: a direct connection is counted"
    near get "http://$far/page.txt"
    status_is 0
    leaks "tcp $far 80"

    check "proxies: a direct connection with IPv6 is counted"
    near get "http://[$far6]/page.txt"
    status_is 0
    leaks "tcp $far6 80"
}

proxy_matrix() {
    local port resolve=()
    for port in 70 79 80 443 1900 1965 1966 9418; do
        resolve+=(--resolve "far.test:$port:$far")
    done
    each_target microsocks -x "socks5h://$proxy:$microsocks"
    each_target "microsocks with a user" -x "socks5h://ada:$odd_encoded@$proxy:$microsocks_user"
    each_target Dante -x "socks5h://$proxy:$dante"
    each_target "Dante with a user" -x "socks5h://ada:$password@$proxy:$dante_user"
    each_target "ssh -D, SOCKS 4A" -x "socks4a://$proxy:$ssh_socks"
    each_target "ssh -D, SOCKS 5" -x "socks5h://$proxy:$ssh_socks"
    each_target tinyproxy -x "http://$proxy:$tinyproxy"
    each_target "tinyproxy with a user" -x "http://ada:$password@$proxy:$tinyproxy_user"
    each_target squid -x "http://$proxy:$squid"
    each_target "squid with a user" -x "http://ada:$odd_encoded@$proxy:$squid_user"
    each_target "squid over TLS" -x "https://proxy.test:$squid_tls"
    each_target "TLS before tinyproxy" -x "https://proxy.test:$tls_proxy"
    each_target "TLS to an address" -x "https://$proxy:$tls_proxy"
    each_target "microsocks, looked up here" -x "socks5://$proxy:$microsocks" "${resolve[@]}"
    each_target "Dante, SOCKS 4, looked up here" -x "socks4://$proxy:$dante" "${resolve[@]}"
}

proxy_addresses() {
    local way
    for way in "socks5h://$proxy:$microsocks" "socks5://$proxy:$dante" "http://$proxy:$tinyproxy" \
        "http://$proxy:$squid" "socks4://$proxy:$dante" "socks4a://$proxy:$ssh_socks"; do
        ! is_left_out "$way" || continue
        check "proxies: an address through $way"
        via get -x "$way" "gopher://$far/0/page.txt" "http://$far/page.txt"
        status_is 0
        cat "$root/wanted.1" "$root/web/page.txt" >"$work/wanted"
        out_is "$work/wanted"
        case $way in socks4* | *"$dante") continue ;; esac
        check "proxies: an IPv6 address through $way"
        via get -x "$way" "http://[$far6]/page.txt"
        status_is 0
        out_is "$root/web/page.txt"
    done

    check "proxies: socks5 looks names up here"
    near get -x "socks5://$proxy:$microsocks" gemini://far.test/page.gmi
    status_is 6
    leaks "udp $proxy 53 look-up of far.test"
    must_not grep -q tcp "$root/packets"

    check "proxies: a proxy with an address where it does not listen"
    via get -x "socks5h://dual.test:$microsocks" gemini://far.test/page.gmi
    status_is 0
    out_is "$root/wanted.0"

    check "proxies: a proxy with an IPv6 address"
    via get -x "socks5h://[$proxy6]:$microsocks6" gopher://far.test/0/page.txt \
        https://far.test/page.txt
    status_is 0
    cat "$root/wanted.1" "$root/web/page.txt" >"$work/wanted"
    out_is "$work/wanted"

    check "proxies: $big_mib MiB"
    via get -x "http://$proxy:$tinyproxy" -o "$work/far.big" http://far.test/big.bin
    status_is 0
    is_big "$work/far.big"
    rm -f "$work/far.big"

    check "proxies: parallel"
    # shellcheck disable=SC2046 # many words
    via get -j 8 -x "socks5h://$proxy:$microsocks" \
        $(for _ in {1..30}; do echo gopher://far.test/0/page.txt https://far.test/page.txt; done)
    status_is 0
    for _ in {1..30}; do cat "$root/wanted.1" "$root/web/page.txt"; done >"$work/wanted"
    out_is "$work/wanted"
}

# A plain request is asked for by its absolute URL, all else by CONNECT.
proxy_requests() {
    local log=$root/tinyproxy-$tinyproxy.log
    : >"$log"
    check "proxies: http is asked for by its URL"
    via get -x "http://$proxy:$tinyproxy" http://far.test/fields
    status_is 0
    must grep -q 'GET http://far.test/fields HTTP/1.1' "$log"
    must_not grep -q ' CONNECT ' "$log"
    for url in gopher://far.test/0/page.txt https://far.test/page.txt; do
        : >"$log"
        check "proxies: ${url%%:*} is asked for by CONNECT"
        via get -x "http://$proxy:$tinyproxy" "$url"
        status_is 0
        must grep -qE ' CONNECT far.test:(70|443) HTTP/1' "$log"
    done

    check "proxies: credentials are for the proxy only"
    via get -A me -x "http://ada:$password@$proxy:$tinyproxy_user" https://far.test/fields
    status_is 0
    out_is_text 'far.test||me'

    check "proxies: a redirect goes the same way"
    via get -x "http://$proxy:$squid" http://far.test/to-https
    status_is 0
    out_is "$root/web/page.txt"

    check "proxies: a redirect to what has no proxy is not followed without"
    http_proxy=http://$proxy:$squid via get http://far.test/to-https
    status_is 102
    out_is_empty
    NO_PROXY=$far ALL_PROXY=http://$proxy:$squid via get http://far.test/to-address
    status_is 102
    out_is_empty
}

proxy_records() {
    local way
    for way in "socks5h://$proxy:$microsocks" "socks4a://$proxy:$ssh_socks" \
        "http://$proxy:$squid" "https://proxy.test:$squid_tls"; do
        for url in gemini://far.test/page.gmi https://far.test/page.txt; do
            check "proxies: the record of $url through $way"
            via get --json -x "${way/:\/\//:\/\/ada:$password@}" "$url"
            status_is 0
            json_is .remote.proxy "$way"
            json_is .remote.ip null
            must jq -e '.time | .connect <= .proxy and .proxy <= .appconnect' "$out"
            hides
        done
    done

    check "proxies: the record where the name is looked up here"
    via get --json -x "socks5://$proxy:$microsocks" --resolve "far.test:70:$far" \
        gopher://far.test/0/page.txt
    status_is 0
    json_is .remote.proxy "socks5://$proxy:$microsocks"
    json_is .remote.ip "$far"

    check "proxies: explain says the way, and sends nothing"
    for url in gemini://far.test/ gopher://far.test/ git://far.test/far.git \
        git+https://far.test/far.git http://far.test/ https://far.test/; do
        via explain -x "socks5h://ada:$password@$proxy:$microsocks" "$url"
        status_is 0
        out_says "socks5h://$proxy:$microsocks"
        hides
        ALL_PROXY=http://ada:$password@$proxy:$squid via explain --json "$url"
        status_is 0
        out_says "http://$proxy:$squid"
        hides
    done

    check "proxies: a trace says the way, and hides the credentials"
    for url in gemini://far.test/ http://far.test/ https://far.test/; do
        for way in "socks5h://ada:$password@$proxy:$dante_user" \
            "http://ada:$password@$proxy:$tinyproxy_user"; do
            ! is_left_out "$way" || continue
            via get -v -x "$way" "$url"
            err_says "${way/ada:$password@/}"
            hides
        done
    done

    check "proxies: trust check goes the same way"
    ALL_PROXY=socks5h://$proxy:$microsocks via trust check far.test
    status_is 0
}

# set_by NAME VARIABLE=VALUE… -- ARGUMENT…: in that environment.
set_by() {
    check "proxies: set by $1"
    shift
    while [ "$1" != -- ]; do
        local -x "${1?}"
        shift
    done
    near "${@:2}"
}

# goes: it went through the proxy.
goes() {
    status_is 0
    leaks_nothing
}
# goes_directly PORT: it did not.
goes_directly() {
    status_is 0
    leaks "tcp $far $1"
}

proxy_settings() {
    local way=socks5h://$proxy:$microsocks bad=socks5h://$proxy:$closed
    local gemini=gemini://far.test/page.gmi gopher=gopher://$far/0/page.txt
    local web=http://$far/page.txt git=git+http://$far/git/far.git//README
    local list
    for list in ALL_PROXY all_proxy gemini_proxy GEMINI_PROXY; do
        set_by "$list" "$list=$way" -- get "$gemini"
        goes
    done
    for list in https_proxy HTTPS_PROXY; do
        set_by "$list" "$list=$way" -- get https://far.test/page.txt \
            git+https://far.test/git/far.git//README
        goes
    done
    set_by http_proxy "http_proxy=$way" -- get http://far.test/page.txt \
        git+http://far.test/git/far.git//README
    goes
    set_by "no HTTP_PROXY for http" "HTTP_PROXY=$bad" -- get "$web"
    goes_directly 80
    set_by "no HTTP_PROXY for git+http" "HTTP_PROXY=$bad" -- get "$git"
    goes_directly 80
    set_by "ALL_PROXY beside HTTP_PROXY" "HTTP_PROXY=$bad" "ALL_PROXY=$way" -- get "$web"
    goes
    set_by "the scheme before ALL_PROXY" "gemini_proxy=$way" "ALL_PROXY=$bad" -- get "$gemini"
    goes
    set_by "lower case first" "all_proxy=$way" "ALL_PROXY=$bad" -- get "$gemini"
    goes
    set_by "ALL_PROXY where the other is empty" gemini_proxy= "ALL_PROXY=$way" -- get "$gemini"
    goes
    set_by "nothing where it is empty" ALL_PROXY= -- get "$gopher"
    goes_directly 70
    set_by "an option before the environment" "ALL_PROXY=$bad" "http_proxy=$bad" -- \
        get -x "$way" "$gemini" http://far.test/page.txt
    goes
    set_by "no proxy by an option" "ALL_PROXY=$bad" -- get --proxy '' "$gopher"
    goes_directly 70
    set_by "no proxy by an option, for http" "http_proxy=$bad" -- get --proxy '' "$web"
    goes_directly 80

    for list in "$far" 203.0.113.0/24 '*' "other.test, $far"; do
        for variable in NO_PROXY no_proxy; do
            set_by "$variable, but not for $list" "ALL_PROXY=$bad" "$variable=$list" -- \
                get "$gopher"
            goes_directly 70
            set_by "$variable, but not for $list, http" "ALL_PROXY=$bad" "$variable=$list" -- \
                get "$web"
            goes_directly 80
        done
        set_by "an option, whatever NO_PROXY=$list" "NO_PROXY=$list" "no_proxy=$list" -- \
            get -x "$way" "$gopher" "$web" "$git"
        goes
        set_by "an option, but not for $list" -- get -x "$bad" --noproxy "$list" "$gopher"
        goes_directly 70
        set_by "an option, but not for $list, http" -- get -x "$bad" --noproxy "$list" \
            "$web"
        goes_directly 80
    done
    for list in far.test .test test; do
        set_by "ALL_PROXY, but not for $list" "ALL_PROXY=$bad" "NO_PROXY=$list" -- get "$gemini"
        status_is 6
        leaks "udp $proxy 53 look-up of far.test"
    done
    for list in ar.test other.test 203.0.114.0/24 ''; do
        set_by "ALL_PROXY, and NO_PROXY='$list' is for others" "ALL_PROXY=$way" "NO_PROXY=$list" \
            -- get "$gemini" "$gopher" "$web"
        goes
    done

    printf 'proxy = %s\n' "$bad" >"$root/config"
    printf '[scheme gemini]\nproxy = %s\n' "$way" >>"$root/config"
    set_by "a config file, for a scheme" -- get -K "$root/config" "$gemini"
    goes
    printf '[host far.test]\nproxy = %s\n' "$way" >"$root/config"
    set_by "a config file, for a host" -- get -K "$root/config" "$gemini" \
        https://far.test/page.txt
    goes
    set_by "a config file, for another host" -- get -K "$root/config" "$gopher"
    goes_directly 70
}

proxies_checks() {
    local root=$work/proxies outer=$smallweb network on_far on_near marks marker ssh
    local url way variable
    start_network || return
    printf -v smallweb ' %q' "${on_far[@]}" "$outer"
    script far-side <<<"exec$smallweb \"\$@\""
    printf -v smallweb ' %q' "${on_near[@]}" "$outer"
    script near-side <<<"exec$smallweb \"\$@\""
    smallweb=$work/near-side
    unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY HTTP_PROXY
    export SSL_CERT_FILE=$work/proxy-authority.crt
    mkdir "$root/temporary"
    local -x TMPDIR=$root/temporary
    proxy_references
    proxy_counter
    proxy_matrix
    proxy_addresses
    proxy_requests
    proxy_records
    proxy_settings
    proxy_refusals
    proxy_hidden_services
    proxy_isolation
    proxy_commands
    proxy_calls
    check "proxies: nothing temporary is left"
    holds_only "$TMPDIR" ''
    finish_check
    smallweb=$outer
    unset SSL_CERT_FILE
    exec {marks}>&- {marker}>&-
    stop "$network"
    rm -rf "$root"
}

# shellcheck source-path=SCRIPTDIR source=proxy-network.sh
. "$here/proxy-network.sh"
# shellcheck source-path=SCRIPTDIR source=proxy-failures.sh
. "$here/proxy-failures.sh"
if section microsocks tinyproxy squid sshd ssh ssh-keygen strace openssl socat nginx \
    fcgiwrap gophernicus efingerd git jq unshare nsenter ip "$JETFORCE" "$SMOLSERVE"; then
    if unshare -r -n -m -p --fork true 2>/dev/null; then
        # Debian 13 has no package of it.
        section danted || has_dante=
        proxies_checks
    else
        skip "proxies need a network namespace"
    fi
fi
