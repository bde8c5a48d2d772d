# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Archives, checked by warcio and fastwarc, and those of wget and warcio.

tools=$(dirname "$JETFORCE")

# Whether others find nothing wrong in an archive.
is_warc() {
    must "$tools/warcio" check "$1"
    must "$tools/fastwarc" check -p "$1"
    sw warc check "$1"
    status_is 0
}

# same_records A B: but for times and the way.
same_records() {
    local strip='del(.time, .date, .remote.proxy, .trust.first_seen)'
    must cmp <(jq -c "$strip" "$1") <(jq -c "$strip" "$2")
}

# hostile NAME: a compressed archive, or the beginning of a plain one, that is small on disk alone.
hostile() {
    "$tools/python" - "$1" <<'END'
import sys, zlib
def member(*parts):
    stream = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b''.join(map(stream.compress, parts)) + stream.flush()
mebi, type_ = 1 << 20, b'WARC/1.1\r\nWARC-Type: response\r\nWARC-Date: 2026-11-20T22:17:13Z\r\n'
with open(sys.argv[1], 'wb') as file:
    if 'bomb' in sys.argv[1]:
        file.write(member(*[bytes(mebi)] * 1024))
    elif 'header' in sys.argv[1]:
        file.write(b'WARC/1.1\r\nX: ' + b'a' * 300 * mebi)
    elif 'targets' in sys.argv[1]:
        for number in range(200):
            file.write(member(type_, b'WARC-Record-ID: <urn:uuid:%d>\r\n' % number,
                              b'WARC-Target-URI: gopher://example.org/0/%d' % number + b'a' * mebi,
                              b'\r\nContent-Length: 0\r\n\r\n\r\n\r\n'))
    else:
        file.write(member(type_, b'WARC-Record-ID: <urn:uuid:1>\r\n',
                          b'WARC-Target-URI: gopher://example.org/9/x\r\n',
                          b'Content-Length: %d\r\n\r\n' % (1024 * mebi),
                          *[bytes(mebi)] * 1024, b'\r\n\r\n'))
END
}

hostile_checks() {
    local file words kibibytes
    for file in bomb.warc.gz header.warc targets.warc.gz gibibyte.warc.gz; do
        check "archive: $file takes little memory"
        hostile "$work/$file"
        for words in "warc list" "warc check" "get -o $work/played --replay-loose --replay"; do
            # shellcheck disable=SC2086 # several words
            set -- $words "$work/$file"
            [ "$1" != get ] || set -- "$@" gopher://example.org/9/x
            status=0
            /usr/bin/time -o "$work/kibibytes" -f %M "$smallweb" "$@" >"$out" 2>"$err" || status=$?
            case $file-$1 in
                bomb* | header*)
                    status_is 8
                    err_says "$file: at byte 0: "
                    ;;
                targets*-get) status_is 103 ;;
                *) status_is 0 ;;
            esac
            kibibytes=$(tail -n 1 "$work/kibibytes")
            [ "$kibibytes" -le 40960 ] || problem "40 MiB are enough for $words, not $kibibytes KiB"
        done
        rm -f "$work/$file" "$work/played"
    done
}

# A program whose server speaks UDP.
program_checks() {
    local plugin=$plugins/Guppy words
    check "archive: datagrams of a program are recorded and replayed"
    start "$work/guppy.log" python3 -u "$here/guppy-server.py" --loss 20 --double 20 \
        --reorder 20 --seed 1
    until_true grep -qE '[0-9]{4,5}' "$work/guppy.log"
    local url
    url=guppy://127.0.0.1:$(grep -oE '[0-9]{4,5}' "$work/guppy.log" | head -n 1)/bytes/30000
    sw get --plugin "$plugin" --warc guppy.warc "$url"
    status_is 0
    cp "$out" "$work/guppy.bytes"
    stop "$server"
    is_warc guppy.warc
    for words in '' --replay-loose; do
        sw get --plugin "$plugin" --replay guppy.warc ${words:+"$words"} "$url"
        status_is 0
        out_is "$work/guppy.bytes"
    done
    sw get --plugin "$plugin" --replay guppy.warc "${url}1"
    status_is 103
}

archive_checks() {
    local root=$work/archive file place
    mkdir -p "$root"
    printf '# page\n' >"$root/index.gmi"
    cp "$work/files/text.txt" "$root/"
    random_bytes 3000000 >"$root/three.bin"
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

    check "archive: an index has the lines of cdxj-indexer for HTTP, and leads to the same page"
    for file in a.warc.gz wget.warc.gz warcio.warc.gz; do
        sw warc index "$work/$file"
        status_is 0
        "$tools/cdxj-indexer" -s "$work/$file" 2>"$err" | grep '"url": "http' >"$work/theirs"
        sed -E '/"url": "http/!d; s/, "(fraction|exchange|chains)": "[^"]*"//g' "$work/$file.cdxj" >"$work/ours"
        must test -s "$work/theirs"
        diff "$work/theirs" "$work/ours" >"$out" || problem "the same lines"
    done
    sw get --replay "$work/wget.warc.gz" "$http/text.txt"
    status_is 0
    out_is "$root/text.txt"

    check "archive: for cdxj-indexer and pywb each reply is a page, and nothing else is"
    for file in a.warc a.warc.gz; do
        sw warc list "$file"
        awk -F '\t' '$2 == "response" || $2 == "revisit" { print $7 }' "$out" | sort >"$work/replies"
        must test "$(wc -l <"$work/replies")" -ge 6
        "$tools/cdxj-indexer" "$file" 2>"$err" | grep -o '"url": "[^"]*' | cut -c 9- | sort >"$work/theirs"
        must diff "$work/replies" "$work/theirs"
        if [ -x "$tools/cdx-indexer" ]; then
            # pywb passes over what is not of HTTP.
            "$tools/cdx-indexer" -j "$file" 2>"$err" | grep -o '"url": "http[^"]*' | cut -c 9- | sort >"$work/theirs"
            must diff <(grep '^http' "$work/replies") "$work/theirs"
            must_not grep -q 'warc-fields' <("$tools/cdx-indexer" -j "$file" 2>>"$err")
        fi
    done

    check "archive: five processes, killed at random, share a cache"
    must python3 "$here/../Faults/cache.py" "$smallweb" 8

    check "archive: whatever kills it, no more than the last record is lost"
    local round process lost=none
    yes "gopher://$place/9/a" | head -n 400 >"$work/many"
    for round in $(seq 20); do
        rm -f k.warc.gz
        : >"$out"
        "$smallweb" get -s --json --warc k.warc.gz --body none "@$work/many" >"$out" 2>"$err" &
        process=$!
        until_true is_at_least "$out" $((round * 300))
        kill -9 "$process"
        wait "$process" 2>/dev/null
        "$smallweb" get -s --warc k.warc.gz "gopher://$place/9/last" >/dev/null 2>>"$err"
        # Behind what has a record on standard output comes the last page.
        "$smallweb" warc list k.warc.gz >"$work/list" 2>>"$err" \
            && [ "$(grep -cE 'response|revisit' "$work/list")" -gt "$(grep -c '"ok":true' "$out")" ] \
            || lost="$lost, round $round: $(wc -l <"$work/list") records, $(wc -l <"$out") lines"
    done
    [ "$lost" = none ] || problem "all that was told: $lost"

    program_checks
    hostile_checks
}

if [ -x "$tools/warcio" ] && [ -x "$tools/fastwarc" ]; then
    if section socat wget strace; then archive_checks; fi
else
    missing "warcio and fastwarc"
fi
