# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Checks, servers and their ends, for run.sh and the files that it reads.

# shellcheck source-path=SCRIPTDIR source=../checks.sh
. "$here/../checks.sh"
# shellcheck source-path=SCRIPTDIR source=configurations.sh
. "$here/configurations.sh"

passed=0 failed=0 skipped=0
name='' problems=() command=() status=0

# check NAME: begins a check; what follows until the next `check` or `section` belongs to it.
check() {
    finish_check
    name=$1 problems=() command=() status=0
    : >"$out"
    : >"$err"
}

finish_check() {
    [ -n "$name" ] || return 0
    if [ "${#problems[@]}" -eq 0 ]; then
        passed=$((passed + 1))
        printf 'ok - %s\n' "$name"
    else
        failed=$((failed + 1))
        printf 'not ok - %s\n' "$name"
        {
            printf '    failed: %s\n' "${problems[@]}"
            printf '    command: smallweb'
            printf ' %q' ${command[@]+"${command[@]}"}
            printf '\n    exit status: %s\n' "$status"
            for stream in out err; do
                printf '    std%s, %s bytes, at the end:\n' "$stream" "$(wc -c <"$work/$stream")"
                tail -c 600 "$work/$stream" | cat -v | sed 's/^/        /'
                printf '\n'
            done
        } >&2
    fi
    name=''
}

# section PROGRAM…: whether the programs are there; if not, what needs them is skipped, but not in CI.
section() {
    local program
    finish_check
    for program in "$@"; do
        command -v "$program" >/dev/null && continue
        missing "$program"
        return 1
    done
}

missing() {
    if [ "${CI:-}" = true ]; then
        check "$1 is installed"
        problem "CI tests every server: install it"
        finish_check
    else
        skip "$1 is not installed"
    fi
}

skip() {
    finish_check
    skipped=$((skipped + 1))
    printf 'skipped - %s\n' "$1"
}

problem() { problems+=("$*"); }

# must COMMAND…: the check fails unless the command succeeds.
must() { "$@" >/dev/null 2>&1 || problem "$*"; }
must_not() { if "$@" >/dev/null 2>&1; then problem "not $*"; fi; }

# Ends what hangs, with status 124 or 137. Nothing else takes as long, on a busy machine either.
patiently() { timeout -k 5 300 "$@"; }

# sw ARGUMENT…: runs smallweb, into $out and $err.
sw() {
    command=("$@")
    status=0
    patiently "$smallweb" "$@" >"$out" 2>"$err" </dev/null || status=$?
}

status_is() { [ "$status" -eq "$1" ] || problem "exit status $1"; }
out_is() { cmp -s "$out" "$1" || problem "stdout is exactly $1"; }
out_says() { grep -qaF -e "$1" "$out" || problem "stdout has '$1'"; }
out_is_text() { [ "$(cat "$out")" = "$1" ] || problem "stdout is '$1'"; }
out_is_empty() { [ ! -s "$out" ] || problem "stdout is empty"; }
err_says() { grep -qaF -e "$1" "$err" || problem "stderr has '$1'"; }
err_lacks() { if grep -qaF -e "$1" "$err"; then problem "stderr lacks '$1'"; fi; }
err_is_empty() { [ ! -s "$err" ] || problem "stderr is empty"; }
# A hint does not count.
err_is_one_line() { [ "$(grep -vc '^hint: ' "$err")" -eq 1 ] || problem "stderr is one line"; }
err_is_one_line_and_a_hint() {
    [ "$(sed 's/:.*//' "$err" | tr '\n' ' ')" = 'smallweb hint ' ] \
        || problem "stderr is one line and a hint"
}
has_no_controls() {
    if LC_ALL=C grep -qa '[^[:print:][:space:]]' <(LC_ALL=C tr -d '\200-\377' <"$1"); then
        problem "no control characters in $1"
    fi
}
sha256() { sha256sum "$1" | cut -d' ' -f1; }
# random_bytes COUNT: the same ones each time, which no compression makes smaller.
random_bytes() {
    head -c "$1" /dev/zero \
        | openssl enc -aes-128-ctr -K 736d616c6c776562 -iv 0 2>/dev/null
}
# make_big [FILE]: $big, once, and a link to it.
make_big() {
    [ -f "$big" ] || random_bytes $((big_mib << 20)) >"$big"
    [ $# -eq 0 ] || ln "$big" "$1"
}
is_big() { cmp -s "$big" "$1" || problem "$1 is what is served"; }
names_in() { (cd "$1" && find . -mindepth 1 | sort | tr '\n' ' '); }
# grouped HEX: as a person is shown it.
grouped() { sed 's/......../& /g; s/ $//' <<<"$1"; }

holds_only() {
    local names
    names=$(names_in "$1")
    [ "$names" = "$2" ] || problem "$1 holds only '$2', not '$names'"
}

# get_big URL SERVER: $big to stdout, with -o and with -O.
get_big() {
    local saved=$work/remote/${1##*/}
    check "$2: $big_mib MiB to standard output"
    sw get "$1"
    status_is 0
    is_big "$out"
    : >"$out"
    check "$2: $big_mib MiB with -o"
    sw get -o "$work/big.o" "$1"
    status_is 0
    out_is_empty
    is_big "$work/big.o"
    rm -f "$work/big.o"
    check "$2: $big_mib MiB with -O"
    mkdir "$work/remote"
    sw get -O --output-dir "$work/remote" "$1"
    status_is 0
    holds_only "$work/remote" "./${1##*/} "
    is_big "$saved"
    rm -r "$work/remote"
}

# until_true COMMAND…: the check fails unless the command succeeds in the end.
until_true() {
    eventually "$@" && return
    problem "in time: $*"
    return 1
}

has_ended() { ! kill -0 "$1" 2>/dev/null; }
is_at_least() { [ -f "$1" ] && [ "$(wc -c <"$1")" -ge "$2" ]; }
# accepts PORT…: all of them.
accepts() {
    local port
    for port in "$@"; do (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return; done
}
has_ended_or() { has_ended "$server" || "$@"; }

# Every server leads a process group, so that its children end with it.
servers=()
# The sockets of tmux.
screens=()

# start LOG COMMAND…: a server in the background; $server is its process group.
start() {
    local log=$1
    shift
    : >"$log"
    setsid env --default-signal "$@" >"$log" 2>&1 <"${stdin:-/dev/null}" 7>&- &
    server=$!
    servers+=("$server")
}

# stop PROCESS: ends a child and its group; of one that has ended, what is left of its group. Its number
# may be another process's or thread's by now, such as in a part of the suite that runs beside this one.
stop() {
    local parent
    parent=$(ps -o ppid= -p "$1")
    case ${parent// /} in
        '') kill -KILL -- "-$1" 2>/dev/null ;;
        "$$") kill -KILL -- "-$1" 2>/dev/null || kill -KILL "$1" 2>/dev/null ;;
    esac
    wait "$1" 2>/dev/null
}

clean_up() {
    local pid
    trap - EXIT HUP INT TERM
    for socket in ${screens[@]+"${screens[@]}"}; do screen kill-server 2>/dev/null; done
    for pid in ${servers[@]+"${servers[@]}"}; do stop "$pid"; done
    rm -rf "$work"
}

# port_in LOG PATTERN: sets $port to what a server reports about a port that the system picked.
port_in() {
    if until_true grep -qaE "$2[0-9]+" "$1"; then
        port=$(grep -aoE "$2[0-9]+" "$1" | head -n 1 | grep -oE '[0-9]+$')
        return
    fi
    [ -n "$name" ] || check "${1##*/}: the server starts"
    problem "it reports its port"
    cp "$1" "$err"
    return 1
}

# comes_up NAME LOG PORT…: the server that was started last accepts connections.
comes_up() {
    check "$1: the server starts"
    until_true has_ended_or accepts "${@:3}"
    ! has_ended "$server" || problem "it goes on"
    cp "$2" "$err"
}

# serve NAME [TLS-OPTIONS] COMMAND: every connection gets the command, on a port in $port.
serve() {
    local listener=TCP-LISTEN:0,$local_only
    if [ $# -eq 3 ]; then listener=OPENSSL-LISTEN:0,$local_only,verify=0,$2; fi
    start "$work/$1.log" socat -d -d -b 65536 "$listener" "EXEC:${!#}"
    port_in "$work/$1.log" 'listening on AF=2 127\.0\.0\.1:'
}
local_only=bind=127.0.0.1,fork,reuseaddr

# A port that was free a moment ago, for servers that cannot have one picked.
free_port() {
    serve free /bin/true
    stop "$server"
}

# start_nginx_below ROOT HTTP: nginx with one worker, whose http block is what the function HTTP
# prints, for $http_port and $tls_port. They are free when they are looked for, and may be taken a
# moment later.
start_nginx_below() {
    local user='' attempt first
    mkdir -p "$1/temp"
    # What root starts would serve as somebody who may not look into TMPDIR.
    if [ "$(id -u)" -eq 0 ]; then user="user root;"; fi
    for attempt in 1 2 3; do
        serve free /bin/true || return
        http_port=$port first=$server
        free_port
        tls_port=$port
        stop "$first"
        cat >"$1/nginx.conf" <<END
daemon off;
$user
worker_processes 1;
pid $1/pid;
error_log $1/error.log notice;
events {}
http {
    client_body_temp_path $1/temp/body;
    proxy_temp_path $1/temp/proxy;
    fastcgi_temp_path $1/temp/fastcgi;
    uwsgi_temp_path $1/temp/uwsgi;
    scgi_temp_path $1/temp/scgi;
    map \$host \$http_port { default $http_port; }
    map \$host \$tls_port { default $tls_port; }
$("$2" "$1")
}
END
        rm -f "$1/socket" "$1/pid"
        start "$1/log" nginx -e "$1/error.log" -p "$1/" -c "$1/nginx.conf"
        eventually has_ended_or accepts "$http_port" "$tls_port" && ! has_ended "$server" && return
        stop "$server"
    done
    check "nginx starts"
    problem "it accepts connections"
    cat "$1/log" "$1/error.log" >"$err" 2>/dev/null
    return 1
}

# script NAME: an executable from standard input.
script() {
    { printf '#!/bin/bash\n' && cat; } >"$work/$1"
    chmod 755 "$work/$1"
}

# certificate NAME [KEY-OPTIONS…]: $work/NAME.pem holds a self-signed certificate and its key.
certificate() {
    local file=$work/$1 subject=${subject:-localhost}
    shift
    [ $# -gt 0 ] || set -- ec -pkeyopt ec_paramgen_curve:prime256v1
    openssl req -x509 -newkey "$@" -nodes -keyout "$file.key" -out "$file.crt" -days 30 \
        -subj "/CN=$subject" -addext "subjectAltName=DNS:$subject" 2>"$work/openssl.log" \
        || cat "$work/openssl.log" >&2
    cat "$file.crt" "$file.key" >"$file.pem"
}

# authority NAME: $work/NAME.crt and .key, which can sign others.
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
        -keyout "$work/$1.key" -out "$work/$1.crt" -subj "/CN=$1" 2>"$work/openssl.log" \
        || cat "$work/openssl.log" >&2
}

# signed NAME AUTHORITY SUBJECT-ALTERNATIVE-NAMES: $work/NAME.crt and .key.
signed() {
    {
        openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
            -keyout "$work/$1.key" -out "$work/$1.csr" -subj "/CN=$1" \
            && openssl x509 -req -in "$work/$1.csr" -CA "$work/$2.crt" -CAkey "$work/$2.key" \
                -CAcreateserial -days 30 -extfile <(echo "subjectAltName=$3") -out "$work/$1.crt"
    } 2>"$work/openssl.log" || cat "$work/openssl.log" >&2
}

# Whether a private network or mount namespace can be had: as root, or by a user namespace.
find_namespaces() {
    local user
    for user in '' -r; do
        namespace=(unshare ${user:+"$user"})
        enter=(nsenter ${user:+-U --preserve-credentials})
        "${namespace[@]}" -n -m true 2>/dev/null && return 0
    done
    return 1
}

# A terminal that tmux plays, on the socket $socket.
#
# open_screen COLUMNS ROWS: the terminal has a shell of its own, with nothing of ours but the places.
open_screen() {
    script shell.run <<END
export PATH=$(dirname "$smallweb"):\$PATH HOME=$HOME SMALLWEB_KNOWN_HOSTS=$SMALLWEB_KNOWN_HOSTS
export PS1='ready> ' SMALLWEB_NO_HISTORY=1
unset PAGER LESS LESSOPEN NO_COLOR
exec env --default-signal bash --norc --noprofile
END
    screen -u -f /dev/null new-session -d -x "$1" -y "$2" "$work/shell.run"
    screens+=("$socket")
}

screen() { tmux -L "$socket" "$@"; }
keys() { screen send-keys -t 0 "$@"; }
look() { screen capture-pane -p -t 0 >"$out"; }
# on_screen LINE: whether the screen has that very line, after a while.
has_line() { look && grep -qxF -e "$1" "$out"; }
on_screen() { until_true has_line "$1"; }
has_text() { look && grep -qF -e "$1" "$out"; }
screen_says() { until_true has_text "$1"; }
screen_lacks() { if has_text "$1"; then problem "the screen lacks '$1'"; fi; }

# press KEY…: once the screen is empty, so that what is waited for next is new.
press() {
    keys -R
    keys "$@"
}

# run_there WORD…: clears the screen and runs smallweb there; its status is said at the end.
run_there() {
    local line
    command=("$@")
    printf -v line ' %q' smallweb "$@"
    press -l "clear;${line}; echo status=\$?"
    keys Enter
}
