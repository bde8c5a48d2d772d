#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the clients of docs/examples/clients, which drive smallweb as a co-process: each gives the same
# lines for the same URLs, holds out against a large backlog, and says so when smallweb ends early.
# usage: clients.sh SMALLWEB SMALLWEB-LOOPBACK
# A language that is not installed is skipped; with CI=true that is a failure.
# shellcheck disable=SC2317 # functions are called by `must`
set -u
export LC_ALL=C.UTF-8
usage='usage: clients.sh SMALLWEB SMALLWEB-LOOPBACK'
clients=$(realpath "$(dirname "$0")/../../docs/examples/clients")
smallweb=$(realpath "${1:?$usage}")
loopback=$(realpath "${2:?$usage}")
work=$(mktemp -d "${TMPDIR:-/tmp}/smallweb-clients.XXXXXX")
export HOME=$work SMALLWEB_KNOWN_HOSTS=$work/known_hosts TMPDIR=$work/tmp
servers=
mkdir "$TMPDIR"
# shellcheck source-path=SCRIPTDIR source=../checks.sh
. "$(dirname "$0")/../checks.sh"
# shellcheck disable=SC2086,SC2317 # none or more; it is called at the end
clean_up() {
    kill $servers 2>/dev/null
    rm -rf "$work"
}
at_exit clean_up
details() { tail -n 10 "$work/output" "$work/errors" | cut -c1-300; }

# program DIRECTORY: an executable called smallweb from standard input.
program() {
    mkdir -p "$work/$1"
    cat - >"$work/$1/smallweb"
    chmod 755 "$work/$1/smallweb"
}

# client DIRECTORY URL…: runs the command $client with that directory's smallweb.
client() {
    local directory=$1
    shift
    status=0
    PATH=$work/$directory:$PATH timeout -k 5 120 "${client[@]}" "$@" \
        >"$work/output" 2>"$work/errors" </dev/null || status=$?
}
# gives FILE: whether its last run has succeeded with those lines.
gives() { [ "$status" -eq 0 ] && cmp "$work/$1" "$work/output"; }
fails_with() { [ "$status" -eq 1 ] && grep -q "$1" "$work/errors"; }

program real <<END
#!/bin/sh
"$smallweb" "\$@"
echo "\$?" >"$work/ended"
END
program exits <<'END'
#!/bin/sh
exit 3
END
# One reply and a part of the next.
program dies <<END
#!/bin/bash
IFS= read -r line
"$smallweb" "\$@" <<<"\$line"
printf '{"type":"resp'
kill -KILL \$\$
END
mkdir "$work/none"

mkfifo "$work/stop"
"$loopback" --only gemini,gopher <>"$work/stop" >"$work/places" &
servers=$!
eventually grep -q ready "$work/places"
port() { awk -v name="$1" '$1 == name { print $3 }' "$work/places"; }
gemini=gemini://127.0.0.1:$(port gemini)
gopher=gopher://127.0.0.1:$(port gopher)

# The slow one is answered last. A text that was not UTF-8 is longer as the record has it.
cat >"$work/forms" <<END
ok	1024	$gemini/slow
ok	24	$gemini/about
ok	100	$gemini/big/100
ok	2000000	$gemini/big/2000000
ok	6	$gemini/latin1
ok	0	$gemini/empty
permanent-failure	-	$gemini/status/51
connect	-	gopher://127.0.0.1:1/
bad-url	-	not a URL
END
mapfile -t urls < <(cut -f 3 "$work/forms")
# More than two pipes and buffers hold, each of another size.
for i in $(seq 4000); do printf 'ok\t%s\t%s\n' "$i" "$gopher/9/big/$i"; done >"$work/backlog"
mapfile -t backlog < <(cut -f 3 "$work/backlog")

check() {
    local name=$1
    rm -f "$work/ended"
    client real "${urls[@]}"
    must "$name: every form of a body, and failures, in the order asked" gives forms
    # Its exit status is there.
    must "$name: the end of smallweb is waited for" test -s "$work/ended"
    must "$name: nothing is left behind" test -z "$(ls "$TMPDIR")"
    client real "${backlog[@]}"
    must "$name: a backlog of ${#backlog[@]} requests" gives backlog
    client dies "${backlog[@]}"
    must "$name: smallweb is killed" fails_with 'smallweb ended with .*\(9\|SIGKILL\|killed\)'
    client exits "${urls[@]}"
    must "$name: smallweb ends at once" fails_with 'smallweb ended with .*3'
    client none "${urls[@]}"
    must "$name: there is no smallweb" fails_with 'smallweb'
}

# None but ours is called smallweb.
mkdir "$work/bin"
for name in python3 node go bash jq timeout env; do
    if found=$(command -v "$name"); then ln -s "$found" "$work/bin/$name"; fi
done
PATH=$work/bin:/usr/bin:/bin

if has python3 "the client in Python"; then
    client=(python3 "$clients/client.py")
    check Python
    sed 's/"--per-host-delay", "1"/"--per-host-delay", "0"/' "$clients/crawl.py" >"$work/crawl.py"
    PATH=$work/real:$PATH timeout 60 python3 "$work/crawl.py" "$gopher/" 20 >"$work/output" 2>"$work/errors"
    must "Python: a crawl" test "$(grep -c '^ok' "$work/output")" -ge 3
fi
if has node "the client in JavaScript"; then
    client=(node "$clients/client.mjs")
    check JavaScript
fi
if has go "the client in Go"; then
    if GOCACHE=$work/go go build -o "$work/client" "$clients/client.go" \
        && go vet "$clients/client.go"; then
        client=("$work/client")
        check Go
    else
        fails "the client in Go builds"
    fi
fi
if has jq "the client in Bash"; then
    sed -i -e 's/^ok\t6\t/ok\t5\t/' -e 's/^\(perm.*\t\)-\t/\10\t/' "$work/forms"
    client=(bash "$clients/coprocess.sh")
    client real "${urls[@]}"
    must "Bash: one URL at a time" gives forms
    must "Bash: the end of smallweb is waited for" test -s "$work/ended"
    client dies "${urls[@]}"
    must "Bash: smallweb is killed" fails_with 'smallweb has ended'
    client none "${urls[@]}"
    must "Bash: there is no smallweb" fails_with 'smallweb has ended'
    PATH=$work/real:$PATH bash "$clients/list.sh" < <(cut -f 3 "$work/forms") >"$work/output"
    sort "$work/output" >"$work/sorted"
    must "Bash: a list" cmp <(awk '{ print NR "\t" $0 }' "$work/forms") "$work/sorted"
fi
exit "$failed"
