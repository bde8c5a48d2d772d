#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the packages of docs/examples as a program's author would, and runs them against servers of
# their own. They share one build of the library, but for the one that is about formats alone: it is
# built where there are no headers, so that neither the C library nor C of ours can be imported.
# usage: run.sh SMALLWEB-LOOPBACK
set -u
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
root=$(realpath "$here/../..")
loopback=$(realpath "${1:?usage: run.sh SMALLWEB-LOOPBACK}")
scratch=$root/.build/examples
work=$(mktemp -d "${TMPDIR:-/tmp}/smallweb-examples.XXXXXX")
export SMALLWEB_KNOWN_HOSTS=$work/known_hosts
servers=
# shellcheck source-path=SCRIPTDIR source=../checks.sh
. "$here/../checks.sh"
# shellcheck disable=SC2086,SC2317 # none or more; it is called at the end
clean_up() {
    kill $servers 2>/dev/null
    rm -rf "$work"
}
at_exit clean_up
details() {
    local server
    for server in $servers; do kill -0 "$server" 2>/dev/null || echo "server $server has ended"; done
    tail -n 3 "$work/output" "$work/part" 2>/dev/null | cut -c1-400
}

# without_headers COMMAND…: runs it in a mount namespace whose system headers are hidden.
mkdir "$work/none"
without_headers() {
    # shellcheck disable=SC2016 # the shell of the namespace expands them
    unshare --user --map-root-user --mount sh -c 'mount --bind "$0" /usr/include && exec "$@"' \
        "$work/none" "$@"
}
# shellcheck disable=SC2317 # it is called by other shells, too
compiles() { "${swift[0]}c" -typecheck -module-cache-path "$work/cache$2" - <<<"import $1"; }

read -ra swift <<<"${SWIFT:-swift}"
start=$SECONDS
formats=$root/.build/formats
if without_headers true 2>"$work/output"; then
    must "the C library can be imported" compiles Glibc 1
    hidden() { without_headers bash -c "$(declare -p work swift); $(declare -f compiles); compiles Glibc 2"; }
    must_not "and can be hidden" hidden 2>/dev/null
    hiding=without_headers
else
    lacks "a build without headers" "there are no mount namespaces" || hiding='env'
fi
must "swift-page builds without headers of the system" "$hiding" "${swift[@]}" build \
    --package-path "$root/docs/examples/swift-page" --scratch-path "$formats" >"$work/build"
must "swift-page builds without a warning" test "$(grep -c 'examples.*warning:' "$work/build")" -eq 0

for package in swift-fetch swift-embed swift-plugin swift-stream; do
    if ! "${swift[@]}" build --build-tests --package-path "$root/docs/examples/$package" \
        --scratch-path "$scratch" >"$work/build" 2>&1; then
        cat "$work/build"
        fails "$package builds"
        exit 1
    fi
    must "$package builds without a warning" test "$(grep -c 'examples.*warning:' "$work/build")" -eq 0
done
echo "built in $((SECONDS - start)) s"

mkfifo "$work/stop"
"$loopback" --only gemini,gopher,git,nex <>"$work/stop" >"$work/places" &
servers=$!
# Daytime: every client is told the same.
python3 -u - >"$work/daytime" <<'PYTHON' &
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1])
while True:
    client, _ = server.accept()
    client.sendall(b"Saturday, November 21, 2026 12:00:00-UTC\r\n")
    client.close()
PYTHON
servers="$servers $!"
eventually grep -q ready "$work/places"
eventually test -s "$work/daytime"
port() { awk -v name="$1" '$1 == name { print $3 }' "$work/places"; }
gemini=gemini://127.0.0.1:$(port gemini)
gopher=gopher://127.0.0.1:$(port gopher)
daytime=daytime://127.0.0.1:$(cat "$work/daytime")

must "a handler is tested on its fixtures" "${swift[@]}" test --skip-build --disable-xctest \
    --package-path "$root/docs/examples/swift-plugin" --scratch-path "$scratch"

printf '# A & B\n=> b.gmi C\n=> javascript:alert(1) D\n* end' |
    "$formats/debug/page" gemini://h.test/a/ >"$work/output"
must "gemtext becomes HTML" grep -qx '<h1>A &amp; B</h1>' "$work/output"
must "its links are absolute" grep -qx '<p><a href="gemini://h.test/a/b.gmi">C</a></p>' "$work/output"
must "nothing is run by a browser" grep -qx '<p>D</p>' "$work/output"
must "the last line is read" grep -qx '<li>end</li>' "$work/output"
printf 'iHello\t\t\t\r\n0About\t/about\th.test\t70\r\n.\r\n' |
    "$formats/debug/page" gopher://h.test/1/ menu >"$work/output"
must "a menu becomes HTML" \
    grep -qx '<p><a href="gopher://h.test/0/about">About</a></p>' "$work/output"
must "its text stays as it is" grep -qx 'Hello' "$work/output"

"$scratch/debug/fetch" "$gemini/links/" "$gopher/1/" >"$work/output"
must "a page has its status and type" grep -qx '20, text/gemini' "$work/output"
must "a page has its links" grep -qx 'https://example.org/a.png A picture' "$work/output"
must "events have the body" grep -Eqx '[0-9]+ bytes' "$work/output"

"$scratch/debug/fetch" "$gemini/truncated" >"$work/output"
must "an error is a sentence" grep -q "^$gemini/truncated: the body may be cut off" "$work/output"

"$scratch/debug/trust" "$gemini/about" "$gemini/about" "$gopher/0/about.txt" >"$work/output"
must "a trust store of one's own asks once" diff - "$work/output" <<TRUST
new key of 127.0.0.1:$(port gemini), 0 known
ok firstUse
ok match
ok no key
TRUST

"$scratch/debug/watched" "$gemini/1k" "nex://127.0.0.1:1/" >"$work/output"
for line in "smallweb started [\"attempt=1\", \"url=$gemini/1k\"]" 'smallweb_retries [] 1' \
    'smallweb_fetches ["outcome=ok"] 1' 'smallweb_bytes [] 1024' 'smallweb_fetch true' \
    'smallweb_fetches ["outcome=connect"] 1'; do
    must "a run is logged and counted: $line" grep -Fqx "$line" "$work/output"
done

# Streams without a plugin: a framer, packets, a task with states.
for source in "$root"/docs/examples/swift-stream/Sources/*/main.swift; do
    must "$(basename "$(dirname "$source")") has at most 60 lines" test "$(wc -l <"$source")" -le 60
done
"$scratch/debug/capsule" "$gemini/links/" >"$work/output"
must "a framer of one's own reads a capsule" grep -q '^=> https://example.org/a.png A picture' "$work/output"
"$scratch/debug/capsule" "$gemini/nothing" >"$work/output"
must "a refusal of a capsule is shown" grep -q '^51: ' "$work/output"
"$scratch/debug/capsule" "$gemini/truncated" >"$work/output"
must "a page that is cut off is an error" test "$?" -eq 1
must "an error of a stream has its server" grep -q "^capsule: 127.0.0.1:$(port gemini): " "$work/output"
"$scratch/debug/ls-remote" "git://127.0.0.1:$(port git)/demo.git" >"$work/output"
must "ls-remote ends well" test "$?" -eq 0
git ls-remote "git://127.0.0.1:$(port git)/demo.git" 2>"$work/errors" >"$work/theirs"
must "ls-remote prints what git prints" cmp "$work/output" "$work/theirs"
"$scratch/debug/ls-remote" "git://127.0.0.1:$(port git)/none.git" >"$work/output"
must "a repository that is missing is an error" test "$?" -eq 1
printf '/about.txt\n' | "$scratch/debug/lines" 127.0.0.1 "$(port nex)" >"$work/output"
must "a task of lines goes through its states" diff - "$work/output" <<'LINES'
initialised
starting
started
< About this station.
stopped
LINES
printf 'a\n' | "$scratch/debug/lines" 127.0.0.1 1 >"$work/output"
must "a task that fails says so" test "$?" -eq 1
must "a task that fails has stopped" grep -q '^stopped: ' "$work/output"

"$scratch/debug/daytime" "$daytime/" "$gemini/about" "$gopher/0/about.txt" "nowhere://x/" \
    >"$work/output"
must "a run has the plugin's own scheme" \
    grep -qx '0 ok 42 Saturday, November 21, 2026 12:00:00-UTC' "$work/output"
must "a run keeps the order" test "$(cut -d' ' -f1 "$work/output" | tr -d '\n')" = 0123
must "a run goes on after an error" \
    grep -qx '3 nowhere://x/: no plugin handles the scheme "nowhere"' "$work/output"

# A thousand URLs, as records: the command line's, byte for byte but for times.
for n in $(seq 1 998); do echo "$gopher/7/search?$n"; done >"$work/list"
printf '%s\n' "$gopher/0/nope" "$gemini/about" >>"$work/list"
masked() {
    sed -E 's/"time":\{[^}]*\}//; s/"date":"[^"]*"//; s/"first_seen":"[^"]*"//; s/"hint":[^}]*//' "$1"
}
"$scratch/debug/records" "$work/ledger" <"$work/list" >"$work/ours"
must "a run of records exits as the command line" test "$?" -eq 22
xargs "$(dirname "$loopback")/smallweb" get --json --ordered -j 64 --per-host 8 \
    --per-host-delay 0.0002 --deadline 120 <"$work/list" >"$work/theirs" 2>"$work/errors"
must "a thousand requests have their records" test "$(wc -l <"$work/ours")" -eq 1001
must "the records are the command line's" \
    cmp <(masked "$work/ours") <(masked "$work/theirs")
must "what is done is left out" \
    test "$("$scratch/debug/records" "$work/ledger" <"$work/list" | grep -c '"type":"response"')" -eq 1

# Cancelled at moments that differ, a run goes on from its ledger and loses nothing.
for most in 1 40 200; do
    : >"$work/part"
    "$scratch/debug/records" "$work/cancelled" <"$work/list" >"$work/part" &
    run=$!
    while kill -0 "$run" 2>/dev/null && [ "$(wc -l <"$work/part")" -lt "$most" ]; do :; done
    kill -INT "$run" 2>/dev/null
    wait "$run"
done
"$scratch/debug/records" "$work/cancelled" <"$work/list" >"$work/part"
must "cancelled runs are one run" test "$(grep -c '"outcome":"ok"' "$work/cancelled")" -eq 999
must "of which nothing is there twice" \
    test "$(grep -o '"url":"[^"]*"' "$work/cancelled" | sort | uniq -d | grep -vc nope)" -eq 0

# A plugin that is a program, and a run whose pages are pushed into it.
mkdir -p "$work/data/smallweb/plugins"
cp -r "$root/docs/examples/plugins/scroll" "$work/data/smallweb/plugins/"
printf 'scroll://127.0.0.1:1/\n' >"$work/list"
XDG_DATA_HOME=$work/data "$scratch/debug/records" "$work/programs" <"$work/list" >"$work/part"
must "a program's scheme is known" grep -q '"plugin":"program:scroll"' "$work/part"
"$scratch/debug/crawl" "$gemini/" >"$work/output"
must "what a page leads to is fetched in the same run" grep -q "^$gemini/about 0" "$work/output"
must "each page once" test "$(cut -d' ' -f1 "$work/output" | sort | uniq -d | wc -l)" -eq 0
exit "$failed"
