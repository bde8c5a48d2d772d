# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# What a proxy costs, beside what it costs the floor: round trips, and the proxy's own time. The
# difference is ours.
socks=$(free_port)
connect=$(free_port)
"${on_first[@]}" microsocks -i 127.0.0.1 -p "$socks" >/dev/null 2>&1 3>&- &
proxies+=($!)
printf 'Port %s\nListen 127.0.0.1\nMaxClients 50\nAllow 127.0.0.1\n' "$connect" \
    >"$scratch/tinyproxy"
"${on_first[@]}" tinyproxy -d -c "$scratch/tinyproxy" >/dev/null 2>&1 3>&- &
proxies+=($!)
attempts=0
until "$smallweb" get -m 1 -x "socks5h://127.0.0.1:$socks" "$gopher_url/0/1k" >/dev/null 2>&1 \
    && "$smallweb" get -m 1 -x "http://127.0.0.1:$connect" "$gopher_url/0/1k" >/dev/null 2>&1; do
    # A port that was free may be taken by now.
    if [ $((attempts += 1)) -gt 100 ]; then
        echo "the proxies do not answer on ports $socks and $connect" >&2
        exit 1
    fi
    sleep 0.05
done
for kind in socks connect; do
    proxy=socks5h://127.0.0.1:$socks port=$socks
    [ "$kind" = socks ] || proxy=http://127.0.0.1:$connect port=$connect
    for turn in 1 2 3; do
        compare "1 KiB over gopher, directly and through a proxy ($kind), turn $turn of 3" 100 \
            smallweb "$smallweb" get "$gopher_url/0/1k" \
            -- proxied "$smallweb" get -x "$proxy" "$gopher_url/0/1k" \
            -- floor "$floor-gopher" gopher 127.0.0.1 "$gopher" /1k \
            -- "through" "$floor-gopher" gopher 127.0.0.1 "$gopher" /1k "$kind" "$port"
    done | tee "$scratch/proxied"
    least=$(awk '$1 ~ /^(smallweb|proxied|floor|through)$/ { median[$1] = $3 }
        $1 == "through" {
            ours = median["proxied"] - median["smallweb"] - median["through"] + median["floor"]
            if (least == "" || ours < least) least = ours
        }
        END { printf "%.2f", least }' "$scratch/proxied")
    echo "  of our own ($kind): $least ms, best of three medians"
    figure "of our own through a proxy" "$kind" "$least" ms
done
