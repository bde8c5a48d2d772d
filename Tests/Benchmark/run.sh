#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares smallweb with curl and with the least that C can do, over servers on this machine.
#
#     run.sh SMALLWEB SMALLWEB-LOOPBACK [CASE…]     cases: small split large; all by default
#
# Both are paths of release builds. All commands of a case take turns (see ratio.c).
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: $0 SMALLWEB SMALLWEB-LOOPBACK [small|split|large]..." >&2
    exit 2
fi
smallweb=$1
loopback=$2
shift 2
cases=${*:-small split large}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
server=
cleanup() {
    exec 3>&- || true
    if [ -n "$server" ]; then wait "$server" 2>/dev/null || true; fi
    rm -rf "$scratch"
}
trap cleanup EXIT

${CC:-cc} -O2 -Wall -Wextra -DWITHOUT_TLS -o "$scratch/floor-gopher" "$here/floor.c"
${CC:-cc} -O2 -Wall -Wextra -o "$scratch/floor-gemini" "$here/floor.c" -lssl -lcrypto
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
        *)
            echo "$0: no case is called $case" >&2
            exit 2
            ;;
    esac
done
