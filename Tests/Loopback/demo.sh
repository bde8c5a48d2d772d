#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `make demo`: the project's own servers on loopback, and the main job against each scheme.
# usage: demo.sh SMALLWEB SMALLWEB-LOOPBACK
set -euo pipefail

smallweb=$1
loopback=$2
work=$(mktemp -d)
export SMALLWEB_KNOWN_HOSTS=$work/known_hosts
mkfifo "$work/stdin"
"$loopback" <"$work/stdin" >"$work/ports" &
server=$!
exec 3>"$work/stdin"
trap 'exec 3>&-; wait "$server" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 200); do
    grep -q '^ready' "$work/ports" && break
    kill -0 "$server"
    read -rt 0.05 <> <(:) || true
done

place() { awk -v scheme="$1" '$1 == scheme { print $2 ":" $3 }' "$work/ports"; }

# show STATUS ARGUMENT…: runs smallweb, and insists on its exit status.
show() {
    local wanted=$1 status=0
    shift
    printf '\n$ smallweb'
    printf ' %q' "$@"
    printf '\n'
    "$smallweb" "$@" || status=$?
    if [ "$status" -ne 0 ]; then printf '(exit status %s)\n' "$status"; fi
    if [ "$status" -ne "$wanted" ]; then
        printf 'demo: exit status %s was expected\n' "$wanted" >&2
        exit 1
    fi
}

gemini=$(place gemini) gopher=$(place gopher) gophers=$(place gophers) finger=$(place finger)
nex=$(place nex) spartan=$(place spartan) git=$(place git) http=$(place http)
show 0 schemes
show 0 get "gemini://$gemini/"
show 0 get -v "gemini://$gemini/redirect/2"
show 0 get -d 'small web' "gemini://$gemini/input"
show 22 get "gemini://$gemini/status/51"
show 0 get "gopher://$gopher/"
show 0 get "gopher://$gopher/0/dots.txt"
show 0 get -d 'small web' "gopher://$gopher/7/search"
show 0 get "gophers://$gophers/0/about.txt"
show 0 get "finger://$finger/ada"
show 0 get "nex://$nex/"
show 0 links "nex://$nex/notes/"
show 0 links "spartan://$spartan/"
show 0 get -v -d 'Hello' "spartan://$spartan/guestbook"
show 75 get "spartan://$spartan/status/5"
show 0 get -i "http://$http/about"
show 75 get "http://$http/status/503"
show 0 refs "git://$git/demo.git"
show 0 get "git://$git/demo.git//"
show 0 get "git://$git/demo.git//docs/guide.md?ref=v1"
show 22 get "git://$git/demo.git//no/such/path"
show 0 get -o "$work/big" "gopher://$gopher/9/big/1000000"
printf '%s bytes in the file\n' "$(wc -c <"$work/big")"
printf '\nEvery scheme answered as it should.\n'
