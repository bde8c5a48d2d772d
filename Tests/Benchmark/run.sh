#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares smallweb with curl and with the least that C can do, over servers on this machine.
#
#     run.sh SMALLWEB SMALLWEB-LOOPBACK [CASE…]     cases: small split large http git bulk trust
#                                                   proxy program; all by default
#
# Both are paths of release builds. All commands of a case take turns (see ratio.c).
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: $0 SMALLWEB SMALLWEB-LOOPBACK [small|split|large|http|git|bulk|trust|proxy|program]..." >&2
    exit 2
fi
smallweb=$1
loopback=$2
shift 2
cases=${*:-small split large http git bulk trust proxy program}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
server=
nginx=
daemon=
proxies=()
cleanup() {
    exec 3>&- || true
    if [ -n "$server" ]; then wait "$server" 2>/dev/null || true; fi
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null || true
        wait "$daemon" 2>/dev/null || true
    fi
    local proxy
    for proxy in ${proxies[@]+"${proxies[@]}"}; do
        kill "$proxy" 2>/dev/null || true
        wait "$proxy" 2>/dev/null || true
    done
    if [ -n "$nginx" ]; then
        kill "$nginx" 2>/dev/null || true
        wait "$nginx" 2>/dev/null || true
    fi
    rm -rf "$scratch"
}
trap cleanup EXIT

${CC:-cc} -O2 -Wall -Wextra -DWITHOUT_TLS -o "$scratch/floor-gopher" "$here/floor.c"
${CC:-cc} -O2 -Wall -Wextra -o "$scratch/floor-gemini" "$here/floor.c" -lssl -lcrypto
${CC:-cc} -O2 -Wall -Wextra -o "$scratch/bulk-floor" "$here/bulk-floor.c"
${CC:-cc} -O2 -Wall -Wextra -o "$scratch/ratio" "$here/ratio.c"
floor=$scratch/floor
ratio=$scratch/ratio

# The servers live as long as descriptor 3 is open.
mkfifo "$scratch/alive" "$scratch/ports"
"$loopback" --only gemini,gopher <"$scratch/alive" >"$scratch/ports" &
server=$!
exec 3>"$scratch/alive"
while read -r name _ port; do
    case $name in
        gemini) gemini=$port ;;
        gopher) gopher=$port ;;
        ready) break ;;
    esac
done <"$scratch/ports"

export SMALLWEB_KNOWN_HOSTS=$scratch/known_hosts
gemini_url=gemini://127.0.0.1:$gemini
gopher_url=gopher://127.0.0.1:$gopher
# Pins the key, and fills the caches.
"$smallweb" get "$gemini_url/1k" >/dev/null
"$smallweb" get "$gopher_url/0/1k" >/dev/null

compare_gemini() { # TITLE ROUNDS PATH
    echo "$1"
    "$ratio" "$2" smallweb "$smallweb" get "$gemini_url$3" \
        -- floor "$floor-gemini" gemini 127.0.0.1 "$gemini" "$3"
}

# Sets $http_url: nginx with one worker, on a port that was free a moment ago.
start_nginx() {
    local root=$scratch/nginx user='' port _
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
        nginx -e "$root/error.log" -p "$root/" -c "$root/conf" 3>&- &
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
    return 1
}

free_port() {
    local log=$scratch/socat.log pid port=''
    socat -d -d TCP-LISTEN:0,bind=127.0.0.1 /dev/null 2>"$log" 3>&- &
    pid=$!
    until port=$(grep -oE 'listening on AF=2 127\.0\.0\.1:[0-9]+' "$log"); do sleep 0.05; done
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    echo "${port##*:}"
}

compare_http() { # TITLE ROUNDS PATH
    echo "$1"
    "$ratio" "$2" smallweb "$smallweb" get "$http_url$3" \
        -- curl curl -q -s "$http_url$3"
}

compare_parallel() {
    local urls=() number
    for number in $(seq 2000); do
        urls+=("$http_url/1k?$number")
        printf 'url="%s"\noutput=/dev/null\n' "$http_url/1k?$number"
    done >"$scratch/curl.conf"
    echo "2,000 URLs of 1 KiB over http, 32 at a time"
    "$ratio" 5 smallweb "$smallweb" get -s -j 32 --per-host 32 "${urls[@]}" \
        -- curl curl -q -s --no-progress-meter --parallel --parallel-max 32 \
        --parallel-immediate -K "$scratch/curl.conf"
}

# Three repositories, and $git_url of a git daemon that serves them.
start_git_daemon() {
    local root=$scratch/git id port
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
    id=$(git -C "$root/files.git" rev-parse main)
    git clone -q --bare "$root/files.git" "$root/small.git"
    cp -r "$root/small.git" "$root/refs.git"
    {
        echo "# pack-refs with: peeled fully-peeled sorted"
        for number in $(seq 100000 199999); do echo "$id refs/heads/branch-$number"; done
        echo "$id refs/heads/main"
    } >"$root/refs.git/packed-refs"
    port=$(free_port)
    git daemon --listen=127.0.0.1 --port="$port" --base-path="$root" --export-all 3>&- &
    daemon=$!
    git_url=git://127.0.0.1:$port
    until git ls-remote "$git_url/small.git" >/dev/null 2>&1; do
        kill -0 "$daemon" || return 1
        sleep 0.05
    done
}

compare_refs() { # TITLE ROUNDS REPOSITORY
    echo "$1"
    "$ratio" "$2" smallweb "$smallweb" refs "$git_url/$3" \
        -- git-v0 git -c protocol.version=0 ls-remote "$git_url/$3" \
        -- git-v2 git -c protocol.version=2 ls-remote "$git_url/$3"
}

compare_file() {
    cat >"$scratch/clone" <<END
#!/bin/sh
rm -rf "$scratch/clone.git"
git clone -q --depth 1 --filter=blob:none --no-checkout "$git_url/files.git" "$scratch/clone.git" \
    && git -C "$scratch/clone.git" show HEAD:d1/e1/f21.txt
END
    chmod +x "$scratch/clone"
    echo "one file of 10,000 over git://"
    "$ratio" 10 smallweb "$smallweb" get "$git_url/files.git//d1/e1/f21.txt" \
        -- git "$scratch/clone"
    command -v strace >/dev/null || return 0
    local ours theirs
    ours=$(received "$smallweb" get "$git_url/files.git//d1/e1/f21.txt")
    theirs=$(received "$scratch/clone")
    echo "  bytes received: smallweb $ours, git $theirs"
}

# What a proxy costs, beside what it costs the floor: round trips, and the proxy's own time. The
# difference is ours.
compare_proxy() {
    local socks connect turn kind proxy port
    socks=$(free_port)
    connect=$(free_port)
    microsocks -i 127.0.0.1 -p "$socks" >/dev/null 2>&1 3>&- &
    proxies+=($!)
    printf 'Port %s\nListen 127.0.0.1\nMaxClients 50\nAllow 127.0.0.1\n' "$connect" \
        >"$scratch/tinyproxy"
    tinyproxy -d -c "$scratch/tinyproxy" >/dev/null 2>&1 3>&- &
    proxies+=($!)
    until "$smallweb" get -x "socks5h://127.0.0.1:$socks" "$gopher_url/0/1k" >/dev/null 2>&1 \
        && "$smallweb" get -x "http://127.0.0.1:$connect" "$gopher_url/0/1k" >/dev/null 2>&1; do
        sleep 0.05
    done
    for kind in socks connect; do
        proxy=socks5h://127.0.0.1:$socks port=$socks
        [ "$kind" = socks ] || proxy=http://127.0.0.1:$connect port=$connect
        for turn in 1 2 3; do
            echo "1 KiB over gopher, directly and through a proxy ($kind), turn $turn of 3"
            "$ratio" 100 smallweb "$smallweb" get "$gopher_url/0/1k" \
                -- proxied "$smallweb" get -x "$proxy" "$gopher_url/0/1k" \
                -- floor "$floor-gopher" gopher 127.0.0.1 "$gopher" /1k \
                -- "through" "$floor-gopher" gopher 127.0.0.1 "$gopher" /1k "$kind" "$port"
        done | tee "$scratch/proxied"
        awk -v kind="$kind" '$1 ~ /^(smallweb|proxied|floor|through)$/ { median[$1] = $3 }
            $1 == "through" {
                ours = median["proxied"] - median["smallweb"] - median["through"] + median["floor"]
                if (least == "" || ours < least) least = ours
            }
            END { printf "  of our own (%s): %.2f ms, best of three medians\n", kind, least }' \
            "$scratch/proxied"
    done
}

# What a plugin costs that is a program, beside a built-in one at the same server, the bare start of
# the program, and its start in namespaces.
compare_program() {
    local home=$scratch/data number
    local folder=$home/smallweb/plugins/bench
    mkdir -p "$folder"
    cat >"$folder/plugin.json" <<END
{ "v": 1, "name": "bench", "version": "1", "summary": "least", "program": ["./helper"],
  "schemes": [ { "name": "bench", "port": 70, "transport": "tcp", "mime": "text/plain" } ] }
END
    ${CC:-cc} -O2 -Wall -Wextra -o "$folder/helper" "$here/helper.c"
    ${CC:-cc} -O2 -Wall -Wextra -o "$scratch/spawn" "$here/spawn.c"
    chmod -R go-w "$home"
    local program=(env "XDG_DATA_HOME=$home" "$smallweb" get)
    for number in 1 2 3; do
        echo "1 KiB through a program, turn $number of 3"
        "$ratio" 100 program "${program[@]}" "bench://127.0.0.1:$gopher/1k" \
            -- built-in env "XDG_DATA_HOME=$home" "$smallweb" get "$gopher_url/0/1k" \
            -- bare "$folder/helper"
    done | tee "$scratch/programs"
    awk '$1 ~ /^(program|built-in|bare)$/ { median[$1] = $3 }
        $1 == "bare" {
            cost = median["program"] - median["built-in"] - median["bare"]
            if (least == "" || cost < least) least = cost
        }
        END { printf "  more than the bare start: %.2f ms, best of three medians\n", least }' \
        "$scratch/programs"
    for number in $(seq 1000); do
        echo "bench://127.0.0.1:$gopher/1k" >&4
        echo "$gopher_url/0/1k" >&5
    done 4>"$scratch/programs" 5>"$scratch/built-in"
    echo "1,000 URLs of 1 KiB through a program, 32 at a time, as records"
    "$ratio" 5 program "${program[@]}" -s --json -j 32 --per-host 32 "@$scratch/programs" \
        -- built-in "$smallweb" get -s --json -j 32 --per-host 32 "@$scratch/built-in" \
        -- bare "$scratch/spawn" 1000 32 bare "$folder/helper" \
        -- contained "$scratch/spawn" 1000 32 contained "$folder/helper"
}

# What a command's sockets read, by strace.
received() {
    strace -f -qq -e trace=read,recvfrom -e status=successful -yy -o "$scratch/trace" "$@" >/dev/null
    awk '/TCP/ { sum += $NF } END { print sum + 0 }' "$scratch/trace"
}

# Requests per second are the count divided by the time; curl has no gemini. The floor is a process
# per request, "epoll" the least that one process can do.
compare_bulk() {
    local count=10000 number
    for number in $(seq $count); do
        echo "$gopher_url/0/1k" >&4
        echo "$gemini_url/1k" >&5
        echo /1k >&6
        printf 'url="%s"\noutput=/dev/null\n' "$gopher_url/0/1k" >&7
    done 4>"$scratch/gopher" 5>"$scratch/gemini" 6>"$scratch/paths" 7>"$scratch/curl.conf"
    bulk=("$smallweb" get -s --json -j 64 --per-host 64)
    echo "$count URLs of 1 KiB over gopher, 64 at a time, as records"
    "$ratio" 5 smallweb "${bulk[@]}" "@$scratch/gopher" \
        -- curl curl -q -s --no-progress-meter --parallel --parallel-max 64 \
        --parallel-immediate -K "$scratch/curl.conf" \
        -- epoll "$scratch/bulk-floor" 127.0.0.1 "$gopher" /1k "$count" 64 \
        -- floor xargs -a "$scratch/paths" -P 8 -n 1 \
        "$floor-gopher" gopher 127.0.0.1 "$gopher" | bounded
    echo "$count URLs of 1 KiB over gemini, 64 at a time, as records"
    "$ratio" 3 smallweb "${bulk[@]}" "@$scratch/gemini" \
        -- floor xargs -a "$scratch/paths" -P 8 -n 1 \
        "$floor-gemini" gemini 127.0.0.1 "$gemini" | bounded
    echo "  sessions resumed: $("${bulk[@]}" --fields tls --body none "@$scratch/gemini" \
        | grep -c '"resumed":true') of $count"
    # No server bears a million requests: a scheme that nobody serves measures the way in and out.
    echo "1,000,000 lines of a scheme that nobody serves, without bodies"
    seq 1000000 | sed 's|^|nosuch://x/|' >"$scratch/million"
    "$ratio" 1 smallweb sh -c '"$@"; [ $? -eq 1 ]' sh \
        "${bulk[@]}" --body none "@$scratch/million" | bounded
    echo "1,000 connections that are open at once, from a soft limit of 256 descriptors"
    for number in $(seq 1000); do
        echo "$gopher_url/0/gather/1000" >&4
        echo "$gemini_url/gather/1000" >&5
    done 4>"$scratch/gopher" 5>"$scratch/gemini"
    bulk=("$smallweb" get -s --json --body none -j 1000 --per-host 1000)
    (
        ulimit -Sn 256
        "$ratio" 3 gopher "${bulk[@]}" "@$scratch/gopher" | bounded 64
        "$ratio" 3 gemini "${bulk[@]}" "@$scratch/gemini" | bounded 128
        "${bulk[@]}" "@$scratch/gopher" | tail -n 1 | grep -o '"requests":1000,"ok":1000' \
            | sed 's/^/  /'
    )
}

# First visits to a thousand hosts, all of which are names of one server: with a trust store that
# knows 9,000 others, and with an empty one.
compare_trust() {
    local number line visits=("$smallweb" get -s --json --body none -j 16)
    line=$(grep "^127.0.0.1:$gemini " "$SMALLWEB_KNOWN_HOSTS")
    for number in $(seq 9000); do echo "other$number.test:1965 ${line#* }"; done >"$scratch/others"
    for number in $(seq 1000); do
        visits+=(--resolve "h$number.test:$gemini:127.0.0.1")
        echo "gemini://h$number.test:$gemini/1k"
    done >"$scratch/hosts"
    visits+=("@$scratch/hosts" --known-hosts "$scratch/growing")
    # shellcheck disable=SC2016 # the inner shell expands it
    local afresh=(sh -c 'cp "$0" "$1"; shift; exec "$@"')
    echo "1,000 first visits over gemini, 16 at a time"
    echo "# smallweb known_hosts 1" >"$scratch/none"
    "$ratio" 5 ninth-on "${afresh[@]}" "$scratch/others" "$scratch/growing" "${visits[@]}" \
        -- first "${afresh[@]}" "$scratch/none" "$scratch/growing" "${visits[@]}" \
        -- again "${visits[@]}" \
        | awk '{ print } /ninth-on\/first/ && $NF > 1.2 { print "  more than 1.2"; bad = 1 }
            $1 == "ninth-on" { late = $3 } $1 == "first" { early = $3 }
            $1 == "again" {
                printf "  a first visit costs %.2f ms more than another, %.2f ms beside 9,000\n", \
                    (early - $3) / 1000, (late - $3) / 1000
            }
            END { exit bad }'
}

# Passes the lines through, says how much memory the first command may take at most (64 MiB, or
# that many), and fails when it took more.
bounded() { # [MIB]
    awk -v most="${1:-64}" '{ print }
        NR == 2 {
            bad = $6 > most
            printf "  at most %d MiB: %s\n", most, bad ? "missed" : "kept"
        }
        END { exit bad }'
}

for case in $cases; do
    case $case in
        small)
            echo "1 KiB over gopher"
            "$ratio" 30 smallweb "$smallweb" get "$gopher_url/0/1k" \
                -- curl curl -s "$gopher_url/0/1k" \
                -- floor "$floor-gopher" gopher 127.0.0.1 "$gopher" /1k
            compare_gemini "1 KiB over gemini" 30 /1k
            ;;
        split)
            compare_gemini "header and body apart, under Nagle's algorithm" 30 /split
            ;;
        large)
            size=268435456
            echo "256 MiB over gopher"
            "$ratio" 5 smallweb "$smallweb" get "$gopher_url/9/big/$size" \
                -- curl curl -s "$gopher_url/9/big/$size" \
                -- floor "$floor-gopher" gopher 127.0.0.1 "$gopher" "/big/$size"
            compare_gemini "256 MiB over gemini" 5 /big/$size
            ;;
        http)
            if ! PATH=$PATH:/usr/sbin command -v nginx >/dev/null; then
                echo "http is skipped: nginx is not installed"
                continue
            fi
            unset http_proxy all_proxy ALL_PROXY
            PATH=$PATH:/usr/sbin start_nginx
            compare_http "1 KiB over http" 30 /1k
            compare_http "256 MiB over http" 5 /256M
            if "$smallweb" get --help | grep -q -e --parallel; then compare_parallel; fi
            ;;
        git)
            start_git_daemon
            compare_refs "references of a small repository over git://" 30 small.git
            compare_refs "100,000 references over git://" 7 refs.git
            compare_file
            ;;
        bulk) compare_bulk ;;
        trust) compare_trust ;;
        proxy) compare_proxy ;;
        program) compare_program ;;
        *)
            echo "$0: no case is called $case" >&2
            exit 2
            ;;
    esac
done
