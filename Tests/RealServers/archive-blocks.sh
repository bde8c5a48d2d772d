# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# The blocks of archives, compared with what a proxy wrote down in front of each server, and with
# what came out.

tools=$(dirname "$JETFORCE")

# recorded NAME HOST PORT OPTION…: a proxy in front of a server; sets $port, and $log to its folder.
recorded() {
    log=$work/blocks/$1
    mkdir -p "$log"
    start "$log.out" python3 -u "$here/recording-proxy.py" "$log" "${@:2}"
    proxy=$server
    port_in "$log.out" 'port '
}

# Whether the connections are over, and the log has all of them: it has what the client was sent.
blocks_are_equal() { "$tools/python" "$here/archive-blocks.py" "$@" 2>"$err"; }

# same_blocks SCHEME RECEIVED WORD…: records what smallweb does with the words, and compares.
same_blocks() {
    local scheme=$1 received=$2 archive=$log.warc.gz
    sw "${@:3}" --warc "$archive"
    status_is 0
    [ "$received" != out ] || received=$out
    cp "$out" "$log.received"
    [ "$received" != "$out" ] || received=$log.received
    until_true blocks_are_equal "$archive" "$log" "$received" \
        ${datagrams:+"$datagrams"}
    sw warc check "$archive"
    status_is 0
    stop "$proxy"
}

# What answers every scheme of one request and one reply: a line, and as many bytes as it announces.
answering_script() {
    script blocks.run <<'END'
IFS= read -r line
case $line in
    spartan*) ;;
    *' /upload '*) bytes=${line##* }; head -c "${bytes%$'\r'}" >/dev/null; printf '2 text/plain\r\n' ;;
    'titan:'*) bytes=${line##*size=}; head -c "${bytes%%[;$'\r']*}" >/dev/null; printf '20 text/plain\r\n' ;;
    'gemini:'*) printf '20 text/plain\r\n' ;;
esac
printf 'for %s\n.\n..dots\0and \377 bytes\r\n' "$line"
head -c 70000 /dev/zero
END
}

block_checks() {
    local root=$work/blocks plain scheme url datagrams=''
    mkdir -p "$root"
    certificate blocks
    answering_script
    serve blocks "$work/blocks.run" || return
    plain=$port
    random_bytes 50000 >"$root/upload"

    for scheme in gopher finger nex; do
        check "blocks: $scheme"
        recorded "$scheme" 127.0.0.1 "$plain" || return
        url=$scheme://127.0.0.1:$port/a
        [ "$scheme" != gopher ] || url=gopher://127.0.0.1:$port/9/a
        same_blocks "$scheme" out get --raw "$url"
    done
    check "blocks: gophers"
    recorded gophers 127.0.0.1 "$plain" --tls "$work/blocks.pem" || return
    same_blocks gophers out get --raw "gophers://127.0.0.1:$port/9/a"
    check "blocks: gemini"
    recorded gemini 127.0.0.1 "$plain" --tls "$work/blocks.pem" || return
    same_blocks gemini out get "gemini://127.0.0.1:$port/a?b%20c"
    check "blocks: titan"
    recorded titan 127.0.0.1 "$plain" --tls "$work/blocks.pem" || return
    same_blocks titan out put "titan://127.0.0.1:$port/a" "$root/upload"
    check "blocks: spartan"
    recorded spartan 127.0.0.1 "$plain" || return
    same_blocks spartan out put "spartan://127.0.0.1:$port/upload" "$root/upload"

    check "blocks: a program over TCP"
    mkdir -p "$root/trial"
    printf '#!/bin/sh\nprintf "%%s\\r\\n" "$SMALLWEB_PATH"\nexec cat >&4\n' >"$root/trial/run"
    chmod 755 "$root/trial" "$root/trial/run"
    cat >"$root/trial/plugin.json" <<'END'
{"v":1,"name":"trial","version":"1","summary":"A trial","program":["./run"],
 "schemes":[{"name":"trial","port":1900,"transport":"tcp","mime":"text/plain"}]}
END
    chmod 644 "$root/trial/plugin.json"
    recorded program 127.0.0.1 "$plain" || return
    same_blocks program out get --plugin "$root/trial" "trial://127.0.0.1:$port/a"
    check "blocks: a program over UDP"
    start "$root/guppy.log" python3 -u "$here/guppy-server.py" --seed 1
    until_true grep -qE '[0-9]{4,5}' "$root/guppy.log"
    recorded guppy 127.0.0.1 "$(grep -oE '[0-9]{4,5}' "$root/guppy.log" | head -n 1)" --udp || return
    datagrams=--datagrams
    same_blocks guppy - get --plugin "$plugins/Guppy" "guppy://127.0.0.1:$port/bytes/30000"
    datagrams=''

    check "blocks: http"
    mkdir -p "$root/files"
    cp "$root/upload" "$root/files/"
    start "$root/http.log" python3 -u -m http.server 0 --bind 127.0.0.1 -d "$root/files"
    port_in "$root/http.log" 'port ' || return
    recorded http 127.0.0.1 "$port" || return
    same_blocks http out get "http://127.0.0.1:$port/upload"

    git init -q -b main "$root/one"
    cp "$root/upload" "$root/one/"
    git -C "$root/one" add upload
    git -C "$root/one" -c user.name=a -c user.email=a@example.org commit -q -m one
    git -C "$root/one" config uploadpack.allowFilter true
    check "blocks: git"
    free_port
    start "$root/daemon.log" "$(git --exec-path)/git-daemon" --listen=127.0.0.1 --port="$port" \
        --reuseaddr --base-path="$root" --export-all
    until_true accepts "$port" || return
    recorded git 127.0.0.1 "$port" || return
    same_blocks git - get "git://127.0.0.1:$port/one//upload"
    cmp -s "$root/upload" "$log.received" || problem "the file came out"
    check "blocks: git+http"
    start "$root/dulwich.log" env PYTHONUNBUFFERED=1 "$tools/python" "$here/git-servers.py" "$root" one
    port_in "$root/dulwich.log" '^dulwich web ' || return
    recorded git-http 127.0.0.1 "$port" || return
    same_blocks git-http - get "git+http://127.0.0.1:$port/one//upload"
    cmp -s "$root/upload" "$log.received" || problem "the file came out"
}

if [ -x "$tools/warcio" ]; then
    if section socat git python3; then block_checks; fi
else
    missing warcio
fi
