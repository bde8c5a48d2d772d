#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes every decoder for its share of SECONDS (default 60). Fails at the first crash, leak or
# broken promise, whose input is then in .build/fuzz. Repeat one with
#     SMALLWEB_FUZZ_TARGET=uri .build/fuzz/build/debug/smallweb-fuzz .build/fuzz/crash-uri-…
#     Tests/Fuzz/run.sh [SECONDS [TARGET...]]
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
[ $# -eq 0 ] || shift
scratch=${SMALLWEB_FUZZ_SCRATCH:-.build/fuzz/build}
work=.build/fuzz
mkdir -p "$work/seeds"

# The linker warns of every symbol of the sanitizer, so its words are shown only when it fails.
if ! SMALLWEB_FUZZ=1 swift build -c debug --scratch-path "$scratch" --product smallweb-fuzz \
    -Xswiftc -sanitize=fuzzer,address -Xswiftc -enable-testing >"$work/build.log" 2>&1; then
    grep -v 'Cannot export local symbol' "$work/build.log" >&2
    exit 1
fi
program=$scratch/debug/smallweb-fuzz

# Seeds: the URLs, replies and media types of the wire cases, one file each.
find Tests/PluginTests/Fixtures -name '*.wire' | while IFS= read -r wire; do
    seed=$work/seeds/$(basename "$(dirname "$wire")")-$(basename "$wire" .wire)
    # The fixtures' escapes are those of %b.
    printf '%b' "$(sed -n 's/^<      //p' "$wire" | tr -d '\n')" >"$seed.reply"
    sed -n 's/^url    //p' "$wire" | tr -d '\n' >"$seed.url"
done

# Manifests, and events: those of the fixtures and of the document.
for manifest in Plugins/*/plugin.json docs/examples/plugins/*/plugin.json; do
    cp "$manifest" "$work/seeds/manifest-$(basename "$(dirname "$manifest")")"
done
for wire in Plugins/*/fixtures/*.wire docs/examples/plugins/*/fixtures/*.wire; do
    folder=${wire%/fixtures/*}
    sed -n -e '/"event":"body"/d' -e 's/"completeness":"complete"/"complete":true/' \
        -e 's/"target":/"redirect":/' -e 's/^= *{"event":/{"type":/p' "$wire" \
        >"$work/seeds/events-$(basename "$folder")-$(basename "$wire" .wire)"
done
sed -n 's/^    \({"type":.*\)/\1/p' docs/plugins.md >"$work/seeds/events"
# What none of them has.
cat >"$work/seeds/events-rare" <<'END'
{"type":"head","class":"redirect","redirect":"/a","permanent":true,"sensitive":true,"size":1,"retry_after":5,"facts":{"a":[1,null]}}
{"type":"item","kind":"info","facts":{"b":{"c":2.5}}}
{"type":"end","complete":null}
END
cat >"$work/seeds/manifest-rare" <<'END'
{"v":1,"name":"a","program":["/b"],"limits":{"cpu_seconds":1,"memory_bytes":16777216,"files":16},"x-c":0,"options":[{"name":"d"}],"schemes":[{"name":"e","port":0,"transport":"none","path":"opaque","upload":true,"secure_form":"f","server_first":true,"summary":""}]}
END

# One for each client: its number, and a line with the signs that stand for hashes.
printf '%b' '\000h SHA-512 ? 1797805033' >"$work/seeds/trust-gmni"
printf '%b' '\001h:1970 &' >"$work/seeds/trust-gplaces"
printf '%b' '\002h SHA256:$ 0' >"$work/seeds/trust-telescope"
printf '%b' '\003h;1965 1797805033 $' >"$work/seeds/trust-lagrange"
printf '%b' '\004h sha256 * 1797805033' >"$work/seeds/trust-chawan"
printf '%b' '\005"h/t" = "$"\n"h/t/expiry" = 2026-12-20T22:17:13Z' >"$work/seeds/trust-amfora"
printf '%b' '\006h:70\t!\t2026-12-20T22:17:13Z' >"$work/seeds/trust-agunua"
printf '%b' '\007[certificate]\n"h" = "!"' >"$work/seeds/trust-ncgopher"
printf '%b' '\010h|1965|$' >"$work/seeds/trust-av98"
printf '%b' '\011h/192.0.2.1/$\t3' >"$work/seeds/trust-offpunk"

# The first byte says whether the client shows a user and insists on that.
printf '%b' '\000\005\000\005\000\000\001\177\000\000\001\007\255' >"$work/seeds/proxy-socks5"
printf '%b' '\003\005\002\001\000\005\000\000\003\003abc\007\255' >"$work/seeds/proxy-login"
printf '%b' '\000\000\132\001\002\003\004\005\006' >"$work/seeds/proxy-socks4"
printf '%b' '\000HTTP/1.1 100 \n\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n' >"$work/seeds/proxy-connect"

# As POSIX, GNU and their long names have it.
for format in ustar gnu pax; do
    name=$(printf 'd/%060d' 1 2)
    [ "$format" = ustar ] && name=$(printf '%090d' 1)
    tar --format=$format --transform="s,.*,$name," -b1 -cf "$work/seeds/tar-$format" .gitattributes
done

targets=${*:-bindings delta finger gemtext gemini-header gemini-request git-address git-fetch git-refs \
    gopher-address gopher-menu gopher-opening gopher-text http-date json known-hosts line-framer \
    manifest media-type pack pack-deltas pkt-line program-events proxy ref-pattern reference \
    spartan-header spartan-request tar terminal-text tree trust-format uri wrap}
share=$((seconds / $(echo "$targets" | wc -w)))
[ "$share" -gt 0 ] || share=1
for target in $targets; do
    mkdir -p "$work/corpus/$target"
    log=$work/$target.log
    if ! SMALLWEB_FUZZ_TARGET=$target "$program" -max_total_time="$share" -max_len=4096 \
        -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$work/crash-$target-" \
        "$work/corpus/$target" "$work/seeds" >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        echo "fuzz: $target FAILED, see $log" >&2
        exit 1
    fi
    echo "fuzz: $target ok, $(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log") inputs in ${share} s"
done
