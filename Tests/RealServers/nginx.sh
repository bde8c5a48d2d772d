# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# nginx: HTTP/1.1, HTTP/2 over TLS with a private authority, and a Unix socket. What curl gets is
# what smallweb must get. Replies that nginx would never send come from a few lines of shell.

statuses=(400 401 403 404 405 406 408 409 410 412 415 418 422 425 428 429 451 500 501 502 503 504)

nginx_locations() {
    local code
    cat <<'END'
location / { autoindex on; }
location /gzip/ { alias web/; gzip on; gzip_min_length 1; gzip_types *; }
location /chunked/ { alias web/; sub_filter zweite dritte; sub_filter_types *; }
location /slow/ { alias web/; limit_rate 64k; }
location /no-ranges/ { alias web/; max_ranges 0; }
location /upload/ { alias upload/; dav_methods PUT; }
location = /echo {
    return 200 "$request_method $args|$host|$http_user_agent|$http_referer|$http_x_test";
}
location /proxied/ {
    rewrite ^/proxied(/.*) $1 break;
    proxy_http_version 1.1;
    proxy_pass http://127.0.0.1:$broken_port;
}
location = /nothing { return 444; }
location = /no-content { return 204; }
location = /created { return 201 "made\n"; }
location = /no-target { return 300 "choose\n"; }
location = /loop { return 302 /loop; }
location = /loop-1 { return 307 /loop-2; }
location = /loop-2 { return 308 /loop-1; }
location = /hop/0 { return 302 /text.txt; }
location = /hop/1 { return 301 /hop/0; }
location = /hop/2 { return 303 /hop/1; }
location = /hop/3 { return 307 /hop/2; }
location = /hop/4 { return 308 /hop/3; }
location = /hop/5 { return 302 /hop/4; }
location = /relative/here { return 302 ../text.txt; }
location = /with-query { return 302 "/echo?a=1&b=%20c"; }
location = /with-fragment { return 302 /text.txt#top; }
location = /to-spaces { return 302 "/a b/c d.txt"; }
location = /to-https { return 301 https://localhost:$tls_port/text.txt; }
location = /to-http { return 301 http://localhost:$http_port/text.txt; }
location = /to-gemini { return 302 gemini://localhost/; }
location = /to-file { return 302 file:///etc/passwd; }
END
    for code in "${statuses[@]}"; do
        printf 'location = /status/%s { add_header Retry-After 7 always; return %s "no %s\\n"; }\n' \
            "$code" "$code" "$code"
    done
}

# What a well-behaved server never sends.
start_broken() {
    script broken.run <<'END'
while IFS= read -r line && [ "$line" != $'\r' ]; do
    case $line in GET*|HEAD*) path=${line#* } path=${path%% *} ;; esac
done
reply() { printf 'HTTP/1.1 200 OK\r\n'; printf '%s\r\n' "$@" ''; }
case $path in
    /short) reply 'Content-Length: 100'; printf hi ;;
    /short-chunk) reply 'Transfer-Encoding: chunked'; printf '20\r\nhi' ;;
    /no-last-chunk) reply 'Transfer-Encoding: chunked'; printf '2\r\nhi\r\n' ;;
    /bad-chunk) reply 'Transfer-Encoding: chunked'; printf 'zz\r\nhi\r\n0\r\n\r\n' ;;
    /bad-gzip) reply 'Content-Encoding: gzip' 'Content-Length: 8'; printf 'not gzip' ;;
    /until-close) printf 'HTTP/1.0 200 OK\r\n\r\nhi' ;;
    /interim)
        printf 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'
        reply 'Content-Length: 2'
        printf hi
        ;;
    /trailers)
        reply 'Transfer-Encoding: chunked' 'Trailer: X-Sum'
        printf '2;ext=1\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n'
        ;;
    /bare-lf) printf 'HTTP/1.1 200 OK\nContent-Length: 2\n\nhi' ;;
    /garbage) printf 'what do you want?\r\n' ;;
    /header-cut-off) printf 'HTTP/1.1 200 OK\r\nContent-Le' ;;
    /many-fields)
        printf 'HTTP/1.1 200 OK\r\n'
        for number in {1..2000}; do printf 'X-%s: y\r\n' "$number"; done
        printf 'Content-Length: 2\r\n\r\nhi'
        ;;
    /long-field) reply "X: $(head -c 400000 /dev/zero | tr '\0' x)"; printf hi ;;
    /repeated) reply 'X-A: 1' 'X-B: 2' 'X-A: 3' 'Content-Length: 0' ;;
    /controls) printf 'HTTP/1.1 404 \033]0;owned\007 \302\233m\r\nX: \033[31m\r\n\r\n' ;;
    /bad-target) printf 'HTTP/1.1 302 Found\r\nLocation: http://[x/\r\n\r\n' ;;
    /no-target) printf 'HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nhi' ;;
    /stall) reply 'Content-Length: 9'; printf hi; cat >/dev/null ;;
    /silent) cat >/dev/null ;;
    /upgrade) printf 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhi' ;;
    /wrong-range)
        printf 'HTTP/1.1 206 x\r\nContent-Range: bytes 7-8/9\r\nContent-Length: 2\r\n\r\nhi'
        ;;
    /dated)
        printf 'HTTP/1.1 503 Later\r\nRetry-After: Fri, 01 Jan 2038 00:00:00 GMT\r\n'
        printf 'Content-Length: 0\r\n\r\n'
        ;;
esac
exit 0
END
    serve broken "$work/broken.run" && broken_port=$port
}

# start_nginx: sets $http_port and $tls_port.
start_nginx() {
    local root=$work/nginx
    mkdir -p "$root/upload" "$root/conf"
    cp -rl "$work/files" "$root/web"
    make_big "$root/web/big.bin"
    : >"$root/web/empty.txt"
    seq 20000 >"$root/web/numbers.txt"
    random_bytes 3000000 >"$root/web/3MB.bin"
    printf 'umlaut\n' >"$root/web/ünï.txt"
    printf 'percent\n' >"$root/web/100%.txt"
    printf 'question\n' >"$root/web/what?.txt"
    printf '<p>page</p>\n' >"$root/web/page.html"
    nginx_locations >"$root/locations"
    start_nginx_below "$root" nginx_http
}

nginx_http() {
    cat <<END
    log_format connection '\$connection \$server_protocol "\$request" \$status';
    access_log $1/access.log connection;
    types { text/html html; text/plain txt; }
    default_type application/octet-stream;
    client_max_body_size 0;
    proxy_buffering off;
    charset utf-8;
    sendfile on;
    root web;
    map \$host \$broken_port { default $broken_port; }
    server {
        listen 127.0.0.1:$http_port;
        listen unix:$1/socket;
        include locations;
    }
    server {
        listen 127.0.0.1:$tls_port ssl http2;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_certificate $work/site.crt;
        ssl_certificate_key $work/site.key;
        include locations;
    }
END
}

plain_curl() { patiently curl -q -sS --cacert "$work/authority.crt" "$@"; }

# oracle ARGUMENT…: curl with what smallweb does by default; $oracle_status is its exit status.
oracle() {
    oracle_status=0
    : >"$work/wanted"
    oracle_code=$(plain_curl -L --max-redirs 5 --compressed -o "$work/wanted" \
        -w '%{http_code}' "$@" 2>"$work/curl.err") || oracle_status=$?
}

# like_curl NAME ARGUMENT…: body and status are what curl gets with the same arguments.
like_curl() {
    local code
    check "nginx: as curl: $1"
    shift
    oracle "$@"
    sw get --no-fail -D "$work/head" "$@"
    status_is 0
    [ "$oracle_status" -eq 0 ] || problem "curl: $(cat "$work/curl.err")"
    out_is "$work/wanted"
    err_is_empty
    code=$(grep -a '^HTTP/' "$work/head" | tail -n 1 | cut -d ' ' -f 2 | tr -d '\r')
    [ "$code" = "$oracle_code" ] || problem "status $oracle_code as for curl, not $code"
    rm -f "$work/head"
}

# The table of URLs: at $1, with the word $2.
compared_urls() {
    local path code
    for path in /text.txt /unended.txt /empty.txt /numbers.txt /3MB.bin /page.html / \
        '/a%20b/c%20d.txt' '/a%20b' '/a%20b/' /gr%C3%BCn%20%E2%98%83.txt /%C3%BCn%C3%AF.txt \
        /ünï.txt /100%25.txt /what%3F.txt '/%74ext.txt' //text.txt '/a%20b/../text.txt' \
        '/a%20b/%2e%2e/text.txt' /./text.txt '/text.txt#fragment' '/text.txt?' \
        '/echo?a=b&c=%20d+e' '/echo?url=http://x/?y=z' '/echo?' \
        /gzip/text.txt /gzip/empty.txt /gzip/numbers.txt /gzip/3MB.bin \
        /chunked/text.txt /chunked/empty.txt /chunked/numbers.txt /chunked/3MB.bin \
        /no-content /created /no-target /missing \
        /hop/0 /hop/1 /hop/2 /hop/3 /hop/4 /relative/here /with-query /with-fragment; do
        like_curl "$2 $path" -A tester "$1$path"
    done
    for code in "${statuses[@]}"; do
        like_curl "$2 /status/$code" "$1/status/$code"
    done
    like_curl "$2, several fields" -A 'me/1 (x)' -e https://from.example/ -H 'X-Test: one two' \
        "$1/echo?x"
    like_curl "$2, a range" -H 'Range: bytes=5-9' "$1/text.txt"
    like_curl "$2, the last bytes" -H 'Range: bytes=-7' "$1/text.txt"
    like_curl "$2, several ranges in gzip's place" -H 'Range: bytes=100-' "$1/gzip/numbers.txt"
    like_curl "$2, a range beyond the end" -H 'Range: bytes=999999-' "$1/text.txt"
    like_curl "$2, -C in the middle" -C 1000000 "$1/3MB.bin"
    like_curl "$2, a method" -A tester -X OPTIONS "$1/echo"
    like_curl "$2, not modified" -H "If-None-Match: $etag" "$1/text.txt"
    like_curl "$2, modified" -H 'If-None-Match: "other"' "$1/text.txt"
}

# exits STATUS ARGUMENT…: a check with one line of error, or none for success, and no body.
exits() {
    check "nginx: exit $1 for ${*:2}"
    sw get "${@:2}"
    status_is "$1"
    out_is_empty
    if [ "$1" -ne 0 ]; then err_is_one_line; fi
}

nginx_statuses() {
    local code
    for code in "${statuses[@]}"; do
        case $code in
            408 | 425 | 429 | 5*) exits 75 "$web/status/$code" ;;
            *) exits 22 "$web/status/$code" ;;
        esac
        err_says "$code"
    done
    exits 0 "$web/no-content"
    exits 0 "$web/empty.txt"
    exits 22 "$secure/status/404"
    exits 75 "$secure/status/503"
    exits 22 "$web/missing"
    exits 47 "$web/loop"
    exits 47 "$web/loop-1"
    exits 47 "$web/hop/5"
    exits 47 --max-redirs 1 "$web/hop/1"
    exits 102 --no-location "$web/hop/0"
    exits 102 "$secure/to-http"
    exits 102 "$web/to-gemini"
    exits 102 "$web/to-file"
    exits 52 "$web/nothing"
    exits 63 --max-filesize 10 "$web/numbers.txt"
    exits 63 --max-filesize 10 "$web/chunked/numbers.txt"
    exits 63 --max-filesize 1k -o "$work/large" "$web/gzip/numbers.txt"
    must_not test -e "$work/large"
    exits 28 -m 0.5 -o "$work/late" "$web/slow/3MB.bin"
    must_not test -e "$work/late"
    exits 1 --proto gemini "$web/text.txt"
    exits 3 http://
    exits 3 'http://[::1/'
    exits 3 http://localhost:99999/
    exits 23 -o /dev/full "$web/text.txt"
    exits 35 "https://localhost:$http_port/"
    free_port
    exits 7 "http://127.0.0.1:$port/"
    exits 7 --unix-socket "$work/nobody" "$web/text.txt"
    exits 97 -x "$web" "$secure/text.txt"

    if section torsocks; then
        # It lets no connection to this machine pass.
        check "nginx: connections go through torsocks, which is preloaded"
        binary=$smallweb
        smallweb=torsocks sw "$binary" get "$web/text.txt"
        status_is 7
        out_is_empty
        err_says 'WARNING torsocks'
    fi

    check "nginx: --fail-with-body and Retry-After"
    sw get -i --fail-with-body "$web/status/503"
    status_is 75
    out_says $'Retry-After: 7\r'
    out_says 'no 503'

    check "nginx: an https site closes without an answer"
    sw get "$secure/nothing"
    [ "$status" -ne 0 ] || problem "an exit status"
    out_is_empty
    err_is_one_line

    check "nginx: more redirects when they are allowed"
    sw get --max-redirs 6 "$web/hop/5"
    status_is 0
    out_is "$root/web/text.txt"

    check "nginx: http to https is followed"
    sw get -v "$web/to-https"
    status_is 0
    out_is "$root/web/text.txt"
    err_says "301 redirect to $secure/text.txt"

    check "nginx: https to http when it is asked for"
    sw get --proto-redir http "$secure/to-http"
    status_is 0
    out_is "$root/web/text.txt"

    check "nginx: a redirect to a name with spaces"
    sw get "$web/to-spaces"
    status_is 0
    out_is_text spaced

    check "nginx: a slow body is whole"
    sw get "$web/slow/numbers.txt"
    status_is 0
    out_is "$root/web/numbers.txt"
}

nginx_requests() {
    local protocol place
    for place in "$web" "$secure"; do
        protocol=${place%%:*}
        check "nginx: $protocol: -I prints what curl -I does, behind a block of its own"
        plain_curl -I "$place/text.txt" | grep -v '^[Dd]ate:' >"$work/wanted"
        sw get -I "$place/text.txt"
        status_is 0
        out_says '  status       200'
        sed '1,/^$/d' "$out" | grep -v '^[Dd]ate:' >"$work/got"
        must cmp "$work/got" "$work/wanted"
        must grep -qi "^etag: $etag" "$out"

        check "nginx: $protocol: -I of what is missing"
        sw get -I "$place/missing"
        status_is 22

        check "nginx: $protocol: -i prints header and body"
        plain_curl -i "$place/text.txt" | grep -av '^[Dd]ate:' >"$work/wanted"
        sw get -i --raw "$place/text.txt"
        status_is 0
        grep -av '^[Dd]ate:' "$out" >"$work/got"
        must cmp "$work/got" "$work/wanted"

        check "nginx: $protocol: several URLs on one connection"
        : >"$root/access.log"
        sw get "$place/text.txt" "$place/missing" "$place/unended.txt"
        status_is 22
        cat "$root/web/text.txt" "$root/web/unended.txt" >"$work/wanted"
        out_is "$work/wanted"
        until_true test "$(wc -l <"$root/access.log")" -eq 3
        [ "$(cut -d ' ' -f 1 "$root/access.log" | sort -u | wc -l)" -eq 1 ] \
            || problem "one connection"

        check "nginx: $protocol: -X PUT sends a file"
        { seq 400000 && printf end; } >"$work/sent"
        sw get -X PUT -d "@$work/sent" "$place/upload/$protocol"
        status_is 0
        must cmp "$root/upload/$protocol" "$work/sent"
    done

    check "nginx: HTTP/2 in the trace"
    sw get -v "$secure/text.txt"
    status_is 0
    err_says '< HTTP/2 200'
    err_says TLSv1.3

    check "nginx: HTTP/1.1 in the trace"
    sw get -v "$web/text.txt"
    status_is 0
    err_says '< HTTP/1.1 200 OK'
    err_says '> GET /text.txt HTTP/1.1'

    check "nginx: --raw leaves the encoding alone"
    plain_curl -H 'Accept-Encoding: gzip' "$web/gzip/numbers.txt" >"$work/wanted"
    sw get --raw -H 'Accept-Encoding: gzip' "$web/gzip/numbers.txt"
    status_is 0
    out_is "$work/wanted"
    must gzip -t <"$out"

    check "nginx: what no URL may hold is encoded"
    sw get "$web/echo?q=ü{}|^\"<>"
    status_is 0
    out_says 'GET q=%C3%BC%7B%7D%7C%5E%22%3C%3E|'

    check "nginx: we introduce ourselves"
    sw get "$web/echo"
    status_is 0
    out_says "|$("$smallweb" --version | cut -d ' ' -f 1,2 | tr ' ' /)|"

    check "nginx: -d posts"
    sw get --no-fail -d text "$web/echo"
    status_is 0
    out_says 'POST |'

    check "nginx: a Unix socket"
    sw get --unix-socket "$root/socket" http://some.test/text.txt
    status_is 0
    out_is "$root/web/text.txt"

    check "nginx: --resolve keeps the name"
    sw get --resolve "site.test:$tls_port:127.0.0.1" "https://site.test:$tls_port/echo"
    status_is 0
    out_says '|site.test|'

    check "nginx: --connect-to keeps the name"
    sw get --connect-to "site.test:443:127.0.0.1:$tls_port" https://site.test/echo
    status_is 0
    out_says '|site.test|'

    check "nginx: -x asks the proxy"
    sw get -x "$web" http://far.test/echo
    status_is 0
    out_says '|far.test|'

    check "nginx: http_proxy, and --noproxy"
    export http_proxy=$web
    sw get http://far.test/echo
    status_is 0
    out_says '|far.test|'
    free_port
    sw get --noproxy far.test --resolve "far.test:$port:127.0.0.1" "http://far.test:$port/echo"
    status_is 7
    unset http_proxy
}

nginx_trust() {
    local pin other
    pin=$(openssl x509 -in "$work/site.crt" -noout -pubkey | openssl pkey -pubin -outform DER \
        | sha256sum | cut -d ' ' -f 1)
    other=${pin//[0-4]/5}

    check "nginx: an authority that we know"
    sw get -v "$secure/text.txt"
    status_is 0
    err_says 'trust: ca'
    err_says "public key sha256:$pin"

    check "nginx: an authority that we do not know"
    SSL_CERT_FILE=$work/stranger.crt sw get -v "$secure/text.txt"
    status_is 60
    out_is_empty
    must_not grep -q '^>' "$err"

    check "nginx: a certificate for another name"
    sw get --resolve "other.test:$tls_port:127.0.0.1" "https://other.test:$tls_port/text.txt"
    status_is 60
    out_is_empty
    err_is_one_line_and_a_hint

    check "nginx: -k"
    SSL_CERT_FILE=$work/stranger.crt sw get -k "$secure/text.txt"
    status_is 0
    out_is "$root/web/text.txt"

    check "nginx: --pin"
    SSL_CERT_FILE=$work/stranger.crt sw get --pin "sha256:$pin" "$secure/text.txt"
    status_is 0
    out_is "$root/web/text.txt"

    check "nginx: --pin of another key"
    sw get --pin "sha256:$other" "$secure/text.txt"
    status_is 90
    out_is_empty
    err_says '  want '
    err_says '  now '
    err_says 'hint: if the key that is there now is right, name that one with --pin'
    must_not test -e "$SMALLWEB_KNOWN_HOSTS.http"

    check "nginx: --pin of another key, with -k"
    sw get -k --pin "sha256:$other" "$secure/text.txt"
    status_is 90
    out_is_empty
}

nginx_files() {
    check "nginx: -O takes the name from the URL"
    mkdir "$work/named"
    sw get -O -P "$work/named" "$web/gr%C3%BCn%20%E2%98%83.txt" "$web/text.txt?a=b/c" "$web/" \
        "$web/100%25.txt" "$web/what%3F.txt"
    status_is 0
    holds_only "$work/named" './100%.txt ./grün ☃.txt ./index.html ./text.txt ./what?.txt '
    must cmp "$work/named/text.txt" "$root/web/text.txt"

    check "nginx: -O of what is missing writes nothing"
    mkdir "$work/missing"
    sw get -O -P "$work/missing" "$web/missing" "$web/status/503"
    status_is 22
    holds_only "$work/missing" ''

    check "nginx: -o for an empty file"
    sw get -o "$work/empty" "$web/empty.txt"
    status_is 0
    must test -f "$work/empty"
    must_not test -s "$work/empty"

    get_big "$web/big.bin" "nginx, HTTP/1.1"
    get_big "$secure/big.bin" "nginx, HTTP/2"
}

nginx_broken() {
    local place=http://127.0.0.1:$broken_port path wanted body limit
    # NAME, exit status, and what reaches standard output.
    while read -r path wanted body; do
        check "nginx: broken: exit $wanted for $path"
        # What is said before a silence comes sooner than that, on a busy machine too.
        limit=()
        [ "$wanted" -ne 28 ] || limit=(--read-timeout 3)
        sw get "${limit[@]}" "$place$path"
        status_is "$wanted"
        if [ -n "$body" ]; then out_is_text "$body"; else out_is_empty; fi
        if [ "$wanted" -eq 0 ]; then err_is_empty; else err_is_one_line; fi
        has_no_controls "$err"
    done <<'END'
/short 18 hi
/short-chunk 18 hi
/no-last-chunk 18 hi
/bad-chunk 8
/bad-gzip 8
/until-close 0 hi
/interim 0 hi
/trailers 0 hi
/bare-lf 0 hi
/garbage 8
/header-cut-off 8
/many-fields 8
/long-field 8
/controls 22
/bad-target 8
/no-target 0 hi
/stall 28 hi
/silent 28
/unknown 52
/dated 75
END
    for path in /short /short-chunk /no-last-chunk; do
        check "nginx: broken: a part alone of $path"
        mkdir "$work/broken"
        sw get -o "$work/broken/file" "$place$path"
        status_is 18
        err_is_one_line
        holds_only "$work/broken" './file.part '
        rm -r "$work/broken"
    done

    for path in /short /short-chunk /no-last-chunk; do
        check "nginx: HTTP/2: a body cut off, $path"
        sw get "$secure/proxied$path"
        status_is 18
        out_is_text hi
        err_is_one_line
        mkdir "$work/broken"
        sw get -o "$work/broken/file" "$secure/proxied$path"
        status_is 18
        holds_only "$work/broken" './file.part '
        rm -r "$work/broken"
    done

    check "nginx: broken: repeated fields keep their order"
    sw get -i "$place/repeated"
    status_is 0
    printf '%s\r\n' 'HTTP/1.1 200 OK' 'X-A: 1' 'X-B: 2' 'X-A: 3' 'Content-Length: 0' '' >"$work/wanted"
    out_is "$work/wanted"

    check "nginx: broken: controls in the trace are shown"
    sw get -v "$place/controls"
    status_is 22
    has_no_controls "$err"

    check "nginx: broken: a range that was not asked for"
    sw get -C 3 "$place/wrong-range"
    status_is 8
    out_is_empty
    err_is_one_line
}

# libcurl is for those who use it.
nginx_libraries() {
    local library
    check "nginx: libcurl is loaded for http"
    LD_DEBUG=files sw get "$web/text.txt"
    status_is 0
    err_says libcurl.so
    [ -n "${scripted_plain:-}" ] || return 0
    check "nginx: a gopher fetch loads no libcurl and nothing of its own"
    LD_DEBUG=files sw get "$scripted_plain/0/x"
    status_is 0
    err_says libc.so
    for library in libcurl libnghttp2 libssl libssh2 libldap libbrotli libidn2 libpsl; do
        err_lacks "$library"
    done
}

nginx_parallel() {
    local urls=() number
    "$smallweb" get --help | grep -q -e --parallel || return 0
    for number in {1..60}; do
        case $((number % 4)) in
            0) urls+=("$secure/echo?$number") ;;
            1) urls+=("$web/echo?$number") ;;
            2) urls+=("$web/gzip/numbers.txt") ;;
            3) urls+=("$secure/chunked/text.txt") ;;
        esac
    done
    check "nginx: parallel output is that of a serial run"
    sw get "${urls[@]}"
    status_is 0
    cp "$out" "$work/wanted"
    sw get -j 16 --per-host 16 "${urls[@]}"
    status_is 0
    out_is "$work/wanted"

    check "nginx: parallel: the first failure in order is the exit status"
    sw get -j 8 --per-host 8 "$web/slow/numbers.txt" "$web/status/503" "$web/missing"
    status_is 75
    out_is "$root/web/numbers.txt"

    check "nginx: parallel: HTTP/2 shares a connection"
    : >"$root/access.log"
    urls=()
    for number in {1..40}; do urls+=("$secure/echo?$number"); done
    sw get -j 20 --per-host 20 "${urls[@]}"
    status_is 0
    until_true test "$(wc -l <"$root/access.log")" -eq 40
    [ "$(cut -d ' ' -f 1 "$root/access.log" | sort -u | wc -l)" -eq 1 ] || problem "one connection"
}

# resumed NAME STATUS: -C - for $work/resumed/file, of which there is a part.
resumed() {
    check "nginx: resume: $1"
    sw get -C - -o "$work/resumed/file" "$3"
    status_is "$2"
    out_is_empty
}

# `-C - -o FILE` continues what FILE or FILE.part has.
nginx_resume() {
    local place=$work/resumed path pid
    mkdir "$place"
    for path in "$web" "$secure"; do
        head -c $((big_mib * 390000 + 1)) "$big" >"$place/file"
        resumed "${path%%:*}: a part of $big_mib MiB under its name" 0 "$path/big.bin"
        err_is_empty
        holds_only "$place" './file '
        is_big "$place/file"

        head -c $((big_mib * 780000 + 1)) "$big" >"$place/file.part"
        rm "$place/file"
        resumed "${path%%:*}: a part of $big_mib MiB in FILE.part" 0 "$path/big.bin"
        err_is_empty
        holds_only "$place" './file '
        is_big "$place/file"

        resumed "${path%%:*}: nothing is missing" 0 "$path/big.bin"
        holds_only "$place" './file '
        is_big "$place/file"
        rm "$place/file"
    done

    resumed "nothing is there yet" 0 "$web/numbers.txt"
    holds_only "$place" './file '
    must cmp "$place/file" "$root/web/numbers.txt"

    : >"$place/file"
    resumed "an empty file" 0 "$web/numbers.txt"
    must cmp "$place/file" "$root/web/numbers.txt"

    head -c 1000 "$root/web/numbers.txt" >"$place/file"
    resumed "where the server would compress" 0 "$web/gzip/numbers.txt"
    must cmp "$place/file" "$root/web/numbers.txt"

    head -c 10 "$root/web/text.txt" >"$place/file"
    resumed "after a redirect" 0 "$web/hop/1"
    must cmp "$place/file" "$root/web/text.txt"

    head -c 1000 "$root/web/numbers.txt" >"$place/file"
    cp "$place/file" "$work/before"
    resumed "a server that cannot" 22 "$web/no-ranges/numbers.txt"
    err_is_one_line
    holds_only "$place" './file '
    must cmp "$place/file" "$work/before"

    resumed "what is missing" 22 "$web/missing"
    must cmp "$place/file" "$work/before"
    resumed "a server that is busy" 75 "$web/status/503"
    must cmp "$place/file" "$work/before"

    cat "$root/web/numbers.txt" "$root/web/numbers.txt" >"$place/file"
    cp "$place/file" "$work/before"
    resumed "a file longer than what is served" 22 "$web/numbers.txt"
    err_is_one_line
    must cmp "$place/file" "$work/before"
    rm "$place/file"

    check "nginx: resume: -O continues the file of that name"
    head -c 1000 "$root/web/numbers.txt" >"$place/numbers.txt"
    sw get -C - -O -P "$place" "$web/numbers.txt"
    status_is 0
    holds_only "$place" './numbers.txt '
    must cmp "$place/numbers.txt" "$root/web/numbers.txt"
    rm "$place/numbers.txt"

    check "nginx: resume: an interrupted transfer goes on"
    env --default-signal "$smallweb" get -C - -o "$place/file" "$web/slow/3MB.bin" \
        >"$out" 2>"$err" &
    pid=$!
    servers+=("$pid")
    until_true is_at_least "$place/file.part" 1
    kill -INT "$pid"
    ends_by 130 "$pid"
    holds_only "$place" './file.part '
    sw get -C - -o "$place/file" "$web/3MB.bin"
    status_is 0
    holds_only "$place" './file '
    must cmp "$place/file" "$root/web/3MB.bin"

    check "nginx: resume: -C - without a file"
    sw get -C - "$web/text.txt"
    status_is 2
    err_is_one_line
}

# Recorded and replayed: HTTP/1.1, HTTP/2, content and transfer codings.
nginx_archive() {
    local urls=("$web/text.txt" "$web/chunked/text.txt" "$web/hop/2" "$web/status/404"
        "$secure/text.txt" "$secure/gzip/text.txt" "$secure/3MB.bin")
    check "nginx: an archive has HTTP/1.1 and HTTP/2, and is replayed"
    sw get -s --json --body none --warc "$work/nginx.warc" "${urls[@]}"
    cp "$out" "$work/nginx.jsonl"
    must grep -qa '^WARC-Protocol: h2' "$work/nginx.warc"
    must grep -qai '^content-encoding: gzip' "$work/nginx.warc"
    must_not grep -qai '^transfer-encoding' "$work/nginx.warc"
    sw get -s --json --body none --replay "$work/nginx.warc" "${urls[@]}"
    status_is 22
    must cmp <(jq -c 'del(.time, .date)' "$work/nginx.jsonl") <(jq -c 'del(.time, .date)' "$out")
    sw warc check "$work/nginx.warc"
    status_is 0
    rm "$work/nginx.warc"
}

nginx_checks() {
    local root=$work/nginx web secure etag http_port tls_port broken_port nginx
    local oracle_status oracle_code
    authority authority
    authority stranger
    signed site authority DNS:localhost,DNS:site.test
    start_broken || return
    start_nginx || return
    web=http://localhost:$http_port secure=https://localhost:$tls_port
    nginx=$server
    unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY
    export SSL_CERT_FILE=$work/authority.crt
    etag=$(plain_curl -I "$web/text.txt" | sed -n 's/^ETag: \(.*\)\r$/\1/p')
    compared_urls "$web" HTTP/1.1
    compared_urls "$secure" HTTP/2
    nginx_statuses
    nginx_requests
    nginx_trust
    nginx_files
    nginx_broken
    nginx_libraries
    nginx_parallel
    nginx_resume
    nginx_archive
    finish_check
    unset SSL_CERT_FILE
    stop "$nginx"
    rm -rf "$root"
}

if section curl nginx openssl socat gzip; then nginx_checks; fi
