# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# First visits to a thousand hosts, all of which are names of one server: with a trust store that
# knows 9,000 others, and with an empty one.
visits=("$smallweb" get -s --json --body none -j 16)
strangers 9000 >"$scratch/others"
for number in $(seq 1000); do
    visits+=(--resolve "h$number.test:$gemini:127.0.0.1")
    echo "gemini://h$number.test:$gemini/1k"
done >"$scratch/hosts"
visits+=("@$scratch/hosts" --known-hosts "$scratch/growing")
# shellcheck disable=SC2016 # the inner shell expands it
afresh=(sh -c 'cp "$0" "$1"; shift; exec "$@"')
echo "# smallweb known_hosts 1" >"$scratch/none"
compare "1,000 first visits over gemini, 16 at a time" 5 \
    ninth-on "${afresh[@]}" "$scratch/others" "$scratch/growing" "${visits[@]}" \
    -- first "${afresh[@]}" "$scratch/none" "$scratch/growing" "${visits[@]}" \
    -- again "${visits[@]}"
bar "with 9,000, to none" "$(measured .ratio first)" 1.2
again=$(measured .milliseconds.median again)
for name in first ninth-on; do
    figure "a first visit, more than another" "$name" \
        "$(measured "(.milliseconds.median - $again) / 1000" "$name")" ms
done
