# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Archives, checked by warcio and fastwarc, and those of wget and warcio.

tools=$(dirname "$JETFORCE")

# Whether others find nothing wrong in an archive.
is_warc() {
    must "$tools/warcio" check "$1"
    must "$tools/fastwarc" check "$1"
    sw warc check "$1"
    status_is 0
}

# same_records A B: but for times and the way.
same_records() {
    local strip='del(.time, .date, .remote.proxy, .trust.first_seen)'
    must cmp <(jq -c "$strip" "$1") <(jq -c "$strip" "$2")
}

archive_checks() {
    local root=$work/archive file place
    mkdir -p "$root"
    printf '# page\n' >"$root/index.gmi"
    cp "$work/files/text.txt" "$root/"
    head -c 3000000 "$big" >"$root/three.bin"
    script plain.run <<'END'
IFS= read -r line
printf 'for %s\r\n' "$line"
head -c 20000 /dev/zero
END
    serve plain "$work/plain.run" || return
    place=127.0.0.1:$port
    local urls=("gopher://$place/9/a" "finger://$place/b" "nex://$place/c"
        "gopher://$place/9/a" "gopher://127.0.0.1:1/0/refused")
    free_port
    start "$work/http.log" python3 -u -m http.server "$port" --bind 127.0.0.1 -d "$root"
    port_in "$work/http.log" 'port ' || return
    local http=http://127.0.0.1:$port
    urls+=("$http/text.txt" "$http/missing" "$http/three.bin")

    for file in a.warc a.warc.gz; do
        check "archive: $file passes warcio and fastwarc"
        sw get -s --json --warc "$file" "${urls[@]}"
        status_is 7
        cp "$out" "$work/live.jsonl"
        is_warc "$file"
        sw warc list "$file"
        must test "$(grep -c 'revisit' "$out")" = 1

        check "archive: $file is replayed without a system call to the network"
        status=0
        strace -f -o "$work/calls" -e trace=socket,connect,sendto,recvfrom "$smallweb" get -s \
            --json --replay "$file" "${urls[@]}" >"$out" 2>"$err" || status=$?
        status_is 7
        same_records "$work/live.jsonl" "$out"
        must_not grep -qE 'socket\(|connect\(|sendto\(' "$work/calls"
    done

    check "archive: what the server sent is the block of the response"
    "$tools/python" - a.warc "$root/three.bin" >"$out" 2>"$err" <<'END' || problem "equal blocks"
import sys
from warcio.archiveiterator import ArchiveIterator
with open(sys.argv[1], 'rb') as file, open(sys.argv[2], 'rb') as served:
    bodies = [record.content_stream().read() for record in ArchiveIterator(file)
              if record.rec_type == 'response'
              and record.rec_headers['WARC-Target-URI'].endswith('/three.bin')]
    assert bodies == [served.read()]
END

    check "archive: a capture of wget is listed, checked and replayed"
    wget -q -O "$work/wget.out" --warc-file "$work/wget" "$http/text.txt"
    sw warc check "$work/wget.warc.gz"
    status_is 0
    sw warc list "$work/wget.warc.gz"
    out_says 'text/plain'
    sw get --replay "$work/wget.warc.gz" "$http/text.txt"
    status_is 0
    out_is "$root/text.txt"

    check "archive: so is one of warcio"
    "$tools/python" - "$work/warcio.warc.gz" "$http/text.txt" 2>"$err" <<'END' || problem "a capture"
import sys
from warcio.capture_http import capture_http
import http.client, urllib.parse
with capture_http(sys.argv[1]):
    url = urllib.parse.urlsplit(sys.argv[2])
    connection = http.client.HTTPConnection(url.netloc)
    connection.request('GET', url.path)
    connection.getresponse().read()
END
    sw warc check "$work/warcio.warc.gz"
    status_is 0
    sw get --replay "$work/warcio.warc.gz" "$http/text.txt"
    status_is 0
    out_is "$root/text.txt"

    check "archive: whatever kills it, no more than the last record is lost"
    local round process lost=0
    yes "gopher://$place/9/a" | head -n 400 >"$work/many"
    for round in $(seq 20); do
        rm -f k.warc.gz
        "$smallweb" get -s --json --warc k.warc.gz --body none "@$work/many" >"$out" 2>"$err" &
        process=$!
        until_true is_at_least "$out" $((round * 300))
        kill -9 "$process"
        wait "$process" 2>/dev/null
        "$smallweb" get -s --warc k.warc.gz "gopher://$place/9/last" >/dev/null 2>>"$err"
        "$smallweb" warc list k.warc.gz >"$work/list" || lost=$((lost + 1))
        # What has a record on standard output is in the archive.
        [ "$(grep -cE 'response|revisit' "$work/list")" -ge "$(wc -l <"$out")" ] \
            || lost=$((lost + 1))
    done
    must test "$lost" = 0
}

if [ -x "$tools/warcio" ] && [ -x "$tools/fastwarc" ]; then
    if section socat wget strace; then archive_checks; fi
else
    missing "warcio and fastwarc"
fi
