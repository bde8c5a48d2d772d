#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the packages of docs/examples as a program's author would, and runs them against servers of
# their own. Both share one build of the library.
# usage: run.sh SMALLWEB-LOOPBACK
set -u
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
root=$(realpath "$here/../..")
loopback=$(realpath "${1:?usage: run.sh SMALLWEB-LOOPBACK}")
scratch=$root/.build/examples
work=$(mktemp -d "${TMPDIR:-/tmp}/smallweb-examples.XXXXXX")
export SMALLWEB_KNOWN_HOSTS=$work/known_hosts
trap 'kill $servers 2>/dev/null; rm -rf "$work"' EXIT
servers=
failed=0

must() {
    local name=$1
    shift
    if "$@"; then echo "ok - $name"; else
        echo "not ok - $name"
        failed=1
    fi
}

start=$SECONDS
for package in swift-fetch swift-plugin; do
    if ! "${SWIFT:-swift}" build --package-path "$root/docs/examples/$package" \
        --scratch-path "$scratch" >"$work/build" 2>&1; then
        cat "$work/build"
        echo "not ok - $package builds"
        exit 1
    fi
    must "$package builds without a warning" test "$(grep -c 'examples.*warning:' "$work/build")" -eq 0
done
echo "built in $((SECONDS - start)) s"

mkfifo "$work/stop"
"$loopback" --only gemini,gopher <>"$work/stop" >"$work/places" &
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
for _ in $(seq 1000); do
    if grep -q ready "$work/places" && [ -s "$work/daytime" ]; then break; fi
    sleep 0.01
done
port() { awk -v name="$1" '$1 == name { print $3 }' "$work/places"; }
gemini=gemini://127.0.0.1:$(port gemini)
gopher=gopher://127.0.0.1:$(port gopher)
daytime=daytime://127.0.0.1:$(cat "$work/daytime")

"$scratch/debug/fetch" "$gemini/links/" "$gopher/1/" >"$work/output"
must "a page has its status and type" grep -qx '20, text/gemini' "$work/output"
must "a page has its links" grep -qx 'https://example.org/a.png A picture' "$work/output"
must "events have the body" grep -Eqx '[0-9]+ bytes' "$work/output"

"$scratch/debug/fetch" "$gemini/truncated" >"$work/output"
must "an error is a sentence" grep -q "^$gemini/truncated: the body may be cut off" "$work/output"

"$scratch/debug/daytime" "$daytime/" "$gemini/about" "$gopher/0/about.txt" "nowhere://x/" \
    >"$work/output"
must "a run has the plugin's own scheme" \
    grep -qx '0 ok 42 Saturday, November 21, 2026 12:00:00-UTC' "$work/output"
must "a run keeps the order" test "$(cut -d' ' -f1 "$work/output" | tr -d '\n')" = 0123
must "a run goes on after an error" \
    grep -qx '3 nowhere://x/: no plugin handles the scheme "nowhere"' "$work/output"
[ "$failed" -eq 0 ] || cat "$work/output"
exit "$failed"
