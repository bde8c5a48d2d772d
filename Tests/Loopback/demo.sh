#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `make demo`: the project's own servers on loopback, and the main job against each scheme.
# usage: demo.sh SMALLWEB SMALLWEB-LOOPBACK
set -euo pipefail

smallweb=$1
loopback=$2
work=$(mktemp -d)
export SMALLWEB_KNOWN_HOSTS=$work/known_hosts HOME=$work SMALLWEB_NO_HISTORY=1
export XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data XDG_STATE_HOME=$work/state
# shellcheck source-path=SCRIPTDIR source=../checks.sh
. "$(dirname "$0")/../checks.sh"
mkfifo "$work/stdin"
"$loopback" <"$work/stdin" >"$work/ports" &
server=$!
exec 3>"$work/stdin"
clean_up() {
    exec 3>&-
    wait "$server" 2>/dev/null
    rm -rf "$work"
}
at_exit clean_up
is_settled() { grep -q '^ready' "$work/ports" || ! kill -0 "$server"; }
eventually is_settled
kill -0 "$server"

place() { awk -v scheme="$1" '$1 == scheme { print $2 ":" $3 }' "$work/ports"; }

# show STATUS WHAT ARGUMENT…: says what is shown, runs smallweb, and insists on its exit status.
show() {
    local wanted=$1 status=0
    printf '\n# %s\n$ smallweb' "$2"
    printf ' %q' "${@:3}"
    printf '\n'
    "$smallweb" "${@:3}" || status=$?
    if [ "$status" -ne 0 ]; then printf '(exit status %s)\n' "$status"; fi
    if [ "$status" -ne "$wanted" ]; then
        printf 'demo: exit status %s was expected\n' "$wanted" >&2
        exit 1
    fi
}

gemini=$(place gemini) gopher=$(place gopher) gophers=$(place gophers) finger=$(place finger)
nex=$(place nex) spartan=$(place spartan) titan=$(place titan) git=$(place git)
http=$(place http) https=$(place https)

show 0 'What smallweb can fetch: schemes, ports, plugins' schemes
show 0 'A Gemini page' get "gemini://$gemini/"
show 0 'Redirects are followed, -v shows the conversation' get -v "gemini://$gemini/redirect/2"
show 0 'A query that the server asks for' get -d 'small web' "gemini://$gemini/input"
show 22 'A page that is not there: one line, and an exit status' get "gemini://$gemini/status/51"
show 0 'A Gopher menu' get "gopher://$gopher/"
show 0 'A Gopher text, with its end and its doubled dots removed' get "gopher://$gopher/0/dots.txt"
show 0 'A Gopher search' get -d 'small web' "gopher://$gopher/7/search"
show 0 'Gopher over TLS' get "gophers://$gophers/0/about.txt"
show 0 'Finger' get "finger://$finger/ada"
show 0 'A Nex page' get "nex://$nex/"
show 0 'Where a Nex directory leads' links "nex://$nex/notes/"
show 0 'Where a Spartan page leads' links "spartan://$spartan/"
show 0 'Data for a Spartan page' get -v -d 'Hello' "spartan://$spartan/guestbook"
show 75 'A failure that may pass has a status of its own' get "spartan://$spartan/status/5"
printf '# Notes\n' >"$work/notes.gmi"
show 0 'An upload by Titan' put "titan://$titan/notes.gmi" "$work/notes.gmi"
show 0 'HTTP, with its header' get -i "http://$http/about"
show 75 'The same status for the same failure' get "http://$http/status/503"
# All of these servers have one key.
key=$("$smallweb" trust show "$gemini" | grep -o 'sha256:[0-9a-f]*' | head -n 1)
show 60 'HTTPS, judged by authorities, who do not know this server' get "https://$https/about"
show 0 'but its key is known' get --pin "$key" "https://$https/about"
show 0 'The branches and tags of a Git repository' refs "git://$git/demo.git"
show 0 'A directory of it, without a clone' get "git://$git/demo.git//"
show 0 'One of its files, as it was in a version' get "git://$git/demo.git//docs/guide.md?ref=v1"
show 22 'A path that is not there' get "git://$git/demo.git//no/such/path"
show 0 'The same over HTTP' get "git+http://$http/demo.git//docs/guide.md"
show 0 'and over HTTPS' get --pin "$key" "git+https://$https/demo.git//docs/guide.md"
show 0 'A megabyte into a file' get -o "$work/big" "gopher://$gopher/9/big/1000000"
printf '%s bytes in the file\n' "$(wc -c <"$work/big")"

show 0 'JSON: a record for programs' get --json "gemini://$gemini/about"
printf '%s\n' "gemini://$gemini/about" "gopher://$gopher/0/about.txt" "finger://$finger/ada" \
    >"$work/urls.txt"
show 0 'A list of URLs, and a ledger of what is done' \
    get -s -j 3 -w '%{exitcode} %{size} %{url}\n' -O --output-dir "$work/pages" --create-dirs \
    --ledger "$work/done.jsonl" "@$work/urls.txt"
show 0 'The same again: the ledger knows all of it' \
    get -w '%{exitcode} %{size} %{url}\n' --ledger "$work/done.jsonl" "@$work/urls.txt"
show 0 'Trust: the keys of the servers that were visited' trust list
other=sha256:$(printf 'ab%.0s' {1..32})
show 0 'If the known key were another' trust replace --force "$gemini" --pin "$other"
show 90 'the server would be refused before anything is sent' get "gemini://$gemini/"
printf '\nEvery scheme answered as it should.\n'
