# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# Servers that not every case needs, and lists of what they serve. run.sh stops them.

# Sets $http_url: nginx with one worker, on a port that was free a moment ago. Fails, and says so,
# when there is none.
start_nginx() {
    local PATH=$PATH:/usr/sbin root=$scratch/nginx user='' port _
    [ -z "$nginx" ] || return 0
    if ! command -v nginx >/dev/null; then
        echo "$case is skipped: nginx is not installed"
        return 1
    fi
    unset http_proxy all_proxy ALL_PROXY
    mkdir -p "$root/temp"
    head -c 1024 /dev/zero | tr '\0' x >"$root/1k"
    head -c 268435456 /dev/zero >"$root/256M"
    if [ "$(id -u)" -eq 0 ]; then user="user root;"; fi
    for _ in 1 2 3; do
        port=$(free_port)
        cat >"$root/conf" <<END
daemon off;
$user
worker_processes 1;
pid $root/pid;
error_log $root/error.log;
events {}
http {
    access_log off;
    client_body_temp_path $root/temp/body;
    proxy_temp_path $root/temp/proxy;
    fastcgi_temp_path $root/temp/fastcgi;
    uwsgi_temp_path $root/temp/uwsgi;
    scgi_temp_path $root/temp/scgi;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 100000;
    server {
        listen 127.0.0.1:$port backlog=1024;
        root $root;
    }
}
END
        "${on_first[@]}" nginx -e "$root/error.log" -p "$root/" -c "$root/conf" 3>&- &
        nginx=$!
        http_url=http://127.0.0.1:$port
        for _ in $(seq 100); do
            if curl -q -s -o /dev/null "$http_url/1k"; then return 0; fi
            kill -0 "$nginx" 2>/dev/null || break
            sleep 0.05
        done
        kill "$nginx" 2>/dev/null || true
        wait "$nginx" 2>/dev/null || true
        nginx=
    done
    cat "$root/error.log" >&2
    exit 1
}

free_port() {
    local log=$scratch/socat.log pid port=''
    # Or the port of the last one is read before socat has begun.
    : >"$log"
    socat -d -d TCP-LISTEN:0,bind=127.0.0.1 /dev/null 2>"$log" 3>&- &
    pid=$!
    eventually grep -q 'listening on AF=2 127\.0\.0\.1:[0-9]' "$log"
    port=$(grep -oE 'listening on AF=2 127\.0\.0\.1:[0-9]+' "$log")
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    echo "${port##*:}"
}

# $git_url of a git daemon that serves files.git and small.git, which have the same commits, and
# whatever is in $git_root.
git_root=$scratch/git
start_git_daemon() {
    [ -z "$daemon" ] || return 0
    local root=$git_root port
    mkdir -p "$root"
    git init -q --bare "$root/files.git"
    # 10,000 files in 400 directories, and 30 versions of one of them.
    awk 'BEGIN {
        print "commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 4\none"
        for (i = 0; i < 10000; i++) {
            text = sprintf("file %d\n", i); while (length(text) < 200) text = text text
            printf "M 100644 inline d%d/e%d/f%d.txt\ndata %d\n%s\n", \
                i % 20, int(i / 20) % 20, i, length(text), text
        }
        for (i = 0; i < 30; i++) {
            text = "changed " i "\n"
            printf "commit refs/heads/main\ncommitter a <a@b> %d +0000\ndata 4\ntwo\n", \
                1700000001 + i
            printf "M 100644 inline d1/e1/f21.txt\ndata %d\n%s\n", length(text), text
        }
    }' | git -C "$root/files.git" fast-import --quiet
    git -C "$root/files.git" symbolic-ref HEAD refs/heads/main
    git -C "$root/files.git" config uploadpack.allowFilter true
    git -C "$root/files.git" gc -q
    git clone -q --bare "$root/files.git" "$root/small.git"
    port=$(free_port)
    "${on_first[@]}" git daemon --listen=127.0.0.1 --port="$port" --base-path="$root" \
        --export-all 3>&- &
    daemon=$!
    git_url=git://127.0.0.1:$port
    is_serving() { git ls-remote "$git_url/small.git" || ! kill -0 "$daemon"; }
    eventually is_serving && kill -0 "$daemon"
}

# Lists of 10,000 URLs: for smallweb, for curl as $scratch/curl-SCHEME.
count=10000
list_gopher() {
    [ ! -f "$scratch/gopher" ] || return 0
    repeat "$gopher_url/0/1k" >"$scratch/gopher"
    repeat "url=\"$gopher_url/0/1k\"\noutput=/dev/null" >"$scratch/curl-gopher"
}

list_gemini() {
    [ -f "$scratch/gemini" ] || repeat "$gemini_url/1k" >"$scratch/gemini"
}

list_http() {
    [ ! -f "$scratch/http" ] || return 0
    repeat "$http_url/1k" >"$scratch/http"
    repeat "url=\"$http_url/1k\"\noutput=/dev/null" >"$scratch/curl-http"
}

repeat() {
    awk -v text="$1" -v count="$count" 'BEGIN { while (count-- > 0) print text }'
}

# strangers COUNT: a store of pins of so many others and of the server over gemini, in lines as
# smallweb writes them.
strangers() {
    local line
    line=$(grep "^127.0.0.1:$gemini " "$SMALLWEB_KNOWN_HOSTS")
    echo "# smallweb known_hosts 1"
    seq -f "other%.0f.test:1965 ${line#* }" "$1"
    echo "$line"
}

# What smallweb is run as over a list, and curl.
bulk=("$smallweb" get -s --json -j 64 --per-host 64)
curl_bulk=(curl -q -s --no-progress-meter --parallel --parallel-max 64 --parallel-immediate)
