# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Plugins that are programs: those that come with smallweb, the examples of the manual, and programs
# that do not want to end.

# trial NAME SCRIPT [MANIFEST]: a plugin of its own, below $work/plugins.
trial() {
    local folder=$work/plugins/$1
    mkdir -p "$folder"
    printf '#!/bin/sh\n%s\n' "$2" >"$folder/run"
    printf '{"v":1,"name":"%s","version":"1","summary":"A trial","program":["./run"],"schemes":[%s]}\n' \
        "$1" "${3:-{\"name\":\"$1\",\"port\":0,\"transport\":\"none\"\}}" >"$folder/plugin.json"
    chmod 755 "$folder" "$folder/run"
    chmod 644 "$folder/plugin.json"
    plugin=$folder
}

# Whether a process has the mark among its arguments.
is_marked() { grep -qsa -e "$mark" /proc/[0-9]*/cmdline; }
is_unmarked() { ! is_marked; }

guppy_checks() {
    local seed size=300000
    for seed in 1 2 3; do
        check "guppy: $size bytes over a network that loses, doubles and reorders, seed $seed"
        start "$work/guppy.log" python3 -u "$here/guppy-server.py" --loss 20 --double 20 \
            --reorder 20 --seed "$seed"
        until_true grep -qE '[0-9]{4,5}' "$work/guppy.log"
        port=$(grep -oE '[0-9]{4,5}' "$work/guppy.log" | head -n 1)
        python3 "$here/guppy-server.py" --content $size >"$work/guppy.bytes"
        sw get --plugin "$plugins/Guppy" "guppy://127.0.0.1:$port/bytes/$size"
        status_is 0
        out_is "$work/guppy.bytes"
    done

    check "guppy: records name the program and its version"
    sw get --json --plugin "$plugins/Guppy" "guppy://127.0.0.1:$port/bytes/10"
    status_is 0
    must test "$(jq -c '[.plugin, .version, .body.complete]' "$out")" = '["program:guppy","1.0",true]'

    check "guppy: a port without a server"
    sw get --plugin "$plugins/Guppy" guppy://127.0.0.1:1/
    status_is 7

    check "guppy: a proxy carries no datagrams, and is not passed over"
    sw get -x socks5h://127.0.0.1:1 --plugin "$plugins/Guppy" "guppy://127.0.0.1:$port/"
    status_is 2
}

end_checks() {
    mark=smallweb-mark-$$
    trial stubborn "(setsid sh -c 'trap \"\" TERM HUP INT; sleep 1000; :' $mark &)
trap '' TERM HUP INT
touch \"\$TMPDIR/left\"
sh -c 'sleep 1000; :' $mark
"
    for signal in INT TERM HUP KILL; do
        check "programs: $signal of smallweb ends all that a program has started"
        command=(get --plugin "$plugin" stubborn://x/)
        start "$work/stubborn.log" "$smallweb" get --plugin "$plugin" stubborn://x/
        until_true is_marked
        kill -"$signal" "$server"
        wait "$server" 2>/dev/null || status=$?
        until_true is_unmarked
        [ "$signal" = KILL ] || must_not ls -d "$TMPDIR"/smallweb-plugins-*/*
    done

    check "programs: a later run removes what a kill has left"
    trial short 'echo done >&4'
    sw get --plugin "$plugin" short://x/
    status_is 0
    out_is_text "done"
    must_not ls -d "$TMPDIR"/smallweb-plugins-*/*

    check "programs: the end of a pipe ends them, too"
    trial endless "sh -c 'yes >&4; :' $mark"
    "$smallweb" get --max-filesize 0 --plugin "$plugin" endless://x/ 2>"$err" | head -n 2 >"$out"
    out_is_text "$(printf 'y\ny')"
    must_not ls -d "$TMPDIR"/smallweb-plugins-*/*
    must is_unmarked

    check "programs: a time limit ends one that ignores signals"
    trial deaf "trap '' TERM HUP INT; sh -c 'sleep 1000; :' $mark"
    sw get --max-time 0.5 --plugin "$plugin" deaf://x/
    status_is 28
    must is_unmarked

    check "programs: no network"
    trial net 'python3 -c "
import socket
for family in (socket.AF_INET, socket.AF_INET6):
    try:
        socket.socket(family, socket.SOCK_STREAM).connect((\"127.0.0.1\", 1))
        print(\"connected\")
    except PermissionError: print(\"refused\")
" >&4'
    sw get --plugin "$plugin" net://x/
    status_is 0
    out_is_text "$(printf 'refused\nrefused')"

    check "programs: a hundred of them, eight at a time"
    seq 100 | sed 's|^|short://x/|' >"$work/programs"
    sw get -j 8 --per-host 8 --plugin "$work/plugins/short" --json "@$work/programs"
    status_is 0
    must test "$(jq -s '[.[] | select(.ok and .type == "response")] | length' "$out")" = 100
}

if section python3 jq; then
    guppy_checks
    # What is left of a program that was killed is looked for where temporary files are made.
    export TMPDIR=$work/tmp
    mkdir -p "$TMPDIR"
    end_checks
    unset TMPDIR
fi
