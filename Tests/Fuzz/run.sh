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

targets=${*:-bindings delta finger gemini-header gemini-request git-address git-fetch git-refs \
    gopher-address gopher-menu gopher-opening gopher-text http-date known-hosts line-framer \
    media-type pack pack-deltas pkt-line ref-pattern reference terminal-text tree trust-format uri}
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
