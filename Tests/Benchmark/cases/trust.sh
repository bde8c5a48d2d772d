# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# First visits to a thousand hosts, all of which are names of one server: with a trust store that
# knows 9,000 others, and with an empty one.
visits=("$smallweb" get -s --json --body none -j 16)
line=$(grep "^127.0.0.1:$gemini " "$SMALLWEB_KNOWN_HOSTS")
for number in $(seq 9000); do echo "other$number.test:1965 ${line#* }"; done >"$scratch/others"
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
    -- again "${visits[@]}" \
    | awk '{ print } /ninth-on\/first/ && $NF > 1.2 { print "  more than 1.2"; bad = 1 }
        $1 == "ninth-on" { late = $3 } $1 == "first" { early = $3 }
        $1 == "again" {
            printf "  a first visit costs %.2f ms more than another, %.2f ms beside 9,000\n", \
                (early - $3) / 1000, (late - $3) / 1000
        }
        END { exit bad }'
