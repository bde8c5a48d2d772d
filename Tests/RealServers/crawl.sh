# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Crawls of spaces that space.py makes up and judges, killed and not; mirrors; broken links.

space=$here/space.py
# CRAWL_PAGES=2000 is a space of some minutes, in which the traps have no more than their share.
space_pages=${CRAWL_PAGES:-400}
traps_max=$((space_pages < 2000 ? 20 : 3))
# The largest place has about this many pages; 64 more are left to the traps without end.
pages_max=$((space_pages * 28 / 100 + 64))
small=(--hosts 20 --pages "$space_pages" --odd 0.7 --crawl-delay 0.5)
# Least seconds between requests; a process that waits for a processor is late by less than half.
delay=0.04
# Those traps. Which of their pages are asked for first is left to chance.
endless='/(cal|s)/|/maze([?]|%3F)'
# All crawls here: at a pace that a test can wait for.
gently=(crawl --per-host-delay "$delay" -j 8 --max-filesize 2M)

# serve_space NAME OPTION…: a space in the background, behind the command $inside if there is one;
# sets $log, $seeds (a file), $seed and $shape.
serve_space() {
    local name=$1
    shift
    shape=("$@") log=$work/$name.requests seeds=$work/$name.seeds
    mkfifo "$work/$name.open"
    exec 7<>"$work/$name.open"
    stdin=$work/$name.open start "$work/$name.log" ${inside[@]+"${inside[@]}"} \
        python3 "$space" serve "${shape[@]}" --seeds "$seeds" "$log"
    if ! until_true grep -q ready "$work/$name.log"; then
        cp "$work/$name.log" "$err"
        return 1
    fi
    seed=$(awk '/ready/ { print $3 }' "$work/$name.log")
}

end_space() {
    exec 7>&-
    stop "$server"
}

# passes_judge BAR…: whether the log keeps to the rules; if not, $out is what the judge says.
passes_judge() {
    python3 "$space" judge "${shape[@]}" --delay "$delay" --slack 0.02 --jobs 8 \
        --traps-max "$traps_max" "$@" "$log" >"$out" 2>>"$err" \
        || problem "the judge has nothing to say against the requests"
}

status_is_one_of() {
    local wanted
    for wanted in "$@"; do [ "$status" -ne "$wanted" ] || return 0; done
    problem "exit status one of $*"
}

# pages STATE: outcome and URL of each page that a crawl is done with.
pages() {
    jq -r 'select(.type == "response" or .type == "error") | [.outcome, .url] | @tsv' "$1" | sort
}

# same_pages A B: two crawls are done with the same pages, the second with each of them once.
same_pages() {
    must test -s "$1"
    diff <(pages "$1" | sort -u) <(pages "$2" | sort -u) >"$work/difference" \
        || problem "the same pages as in $1, but $(head -n 6 "$work/difference")"
    [ -z "$(pages "$2" | grep '^ok' | uniq -d)" ] || problem "each page is in $2 once"
}

# killed TIMES FILE SIZE WORD…: runs a crawl as often, and kills it when FILE has grown to the next
# part of SIZE.
killed() {
    local times=$1 file=$2 size=$3 round process
    shift 3
    command=("$@")
    for round in $(seq "$times"); do
        "$smallweb" "$@" >>"$work/killed.out" 2>>"$err" </dev/null &
        process=$!
        until_true is_far "$process" "$file" $((size * round / (times + 2)))
        ! has_ended "$process" || problem "kill $round of $times comes in time"
        kill -9 "$process" 2>/dev/null
        wait "$process" 2>/dev/null
    done
}
is_far() { has_ended "$1" || is_at_least "$2" "$3"; }

space_checks() {
    local scheme state
    for scheme in gopher http gemini; do
        check "crawl: a space of $scheme, by its log"
        serve_space "$scheme" --scheme "$scheme" "${small[@]}" || return
        sw "${gently[@]}" --scope host --per-host-pages "$pages_max" \
            --state "$work/$scheme.jsonl" --json "@$seeds"
        # Robots forbid some seeds, and some places are left because theirs fail for now.
        status_is_one_of 75 104
        tail -n 1 "$out" >"$work/summary"
        must jq -e '.type == "summary" and .waiting > 0 and (.skipped | add) > 0
            and (.places_left | length) > 0' "$work/summary"
        passes_judge
        [ "$scheme" = gemini ] || end_space
    done

    check "crawl: without the traps that have no end"
    : >"$log"
    state=$work/whole.jsonl
    sw "${gently[@]}" --scope host --exclude "$endless" --state "$state" "@$seeds"
    status_is_one_of 75 104
    passes_judge

    check "crawl: killed five times, it asks for the same pages"
    : >"$log"
    set -- "${gently[@]}" --scope host --exclude "$endless" --state "$work/killed.jsonl" \
        --warc "$work/killed.warc.gz" "@$seeds"
    killed 5 "$work/killed.jsonl" "$(wc -c <"$state")" "$@"
    sw "$@"
    status_is_one_of 75 104
    same_pages "$state" "$work/killed.jsonl"
    passes_judge --kills 5

    check "crawl: the archive of that is whole, and has every page"
    sw warc check "$work/killed.warc.gz"
    status_is 0
    sw warc list --json "$work/killed.warc.gz"
    jq -r 'select(.kind == "response" or .kind == "revisit").url' "$out" \
        | sort -u >"$work/archived"
    must test -s "$work/archived"
    pages "$work/killed.jsonl" | sed -n 's/^ok\t//p' | sort -u | comm -23 - "$work/archived" >"$out"
    out_is_empty
    end_space
}

# A place of its own, without the traps that have no end.
mirror_checks() {
    local size
    serve_space mirror --scheme gopher --hosts 1 --pages 200 --odd 0 || return
    local there=("${gently[@]}" --exclude "$endless")
    check "crawl: a mirror"
    sw "${there[@]}" --state "$work/mirror.jsonl" --mirror "$work/mirror" "$seed"
    status_is 0
    size=$(wc -c <"$work/mirror.jsonl")
    must test "$(find "$work/mirror" -type f | wc -l)" -ge 200
    passes_judge --traps-max 25

    check "crawl: one that is done asks for nothing"
    : >"$log"
    sw "${there[@]}" --state "$work/mirror.jsonl" --mirror "$work/mirror" "$seed"
    status_is 0
    must test ! -s "$log"

    check "crawl: a mirror that is killed twice is the same"
    set -- "${there[@]}" --state "$work/again.jsonl" --mirror "$work/again" "$seed"
    killed 2 "$work/again.jsonl" "$size" "$@"
    sw "$@"
    status_is 0
    passes_judge --kills 2 --traps-max 25
    diff -r "$work/mirror" "$work/again" >"$out" 2>&1 || problem "the same files"

    check "crawl: stopped after ten pages, it goes on"
    : >"$log"
    sw "${there[@]}" --state "$work/ten.jsonl" --max-pages 10 "$seed"
    status_is 130
    must test "$(pages "$work/ten.jsonl" | wc -l)" -eq 10
    sw "${there[@]}" --state "$work/ten.jsonl" "$seed"
    status_is 0
    same_pages "$work/mirror.jsonl" "$work/ten.jsonl"
    # The second run keeps the pace of the first, and knows its robots.
    passes_judge --traps-max 25
    end_space
}

# set_inside: $inside gives the command behind it a network of its own, with public addresses.
set_inside() {
    inside=("${namespace[@]}" -n sh -c
        'ip link set lo up && ip route add local 11.0.0.0/8 dev lo && exec "$@"' sh)
}

# smallweb_inside NAME: $smallweb becomes a script that runs it in the network of $server.
smallweb_inside() {
    local words=("${enter[@]}" -t "$server" -n "$smallweb")
    script "$1" <<END
exec ${words[*]} "\$@"
END
    smallweb=$work/$1
}

# One seed leads to all.
network_checks() {
    local outer=$smallweb inside known=$SMALLWEB_KNOWN_HOSTS
    set_inside
    check "crawl: one seed leads to every place, and to no private address"
    serve_space public --scheme gemini --base 11.0.0.1 --hosts 20 --pages "$space_pages" --odd 0.5 \
        --crawl-delay 0.5 || return
    smallweb_inside in-space
    touch "$known"
    cp "$known" "$work/known-before"
    sw "${gently[@]}" --scope any --per-host-pages "$pages_max" --state "$work/public.jsonl" "$seed"
    status_is 75
    must test -s "$work/public.jsonl.known_hosts"
    must cmp "$known" "$work/known-before"
    passes_judge
    finish_check
    smallweb=$outer
    end_space
}

# The planted faults: page, line, outcome, target.
faults() {
    cat <<'END'
                  | 17 | permanent-failure  | missing.gmi
                  | 18 | permanent-failure  | /sub/Page.gmi
                  | 19 | resolve            | gemini://missing.example.org/
                  | 20 | bad-url            | gemini://localhost:99999/
sub/              |  2 | permanent-failure  | missing.gmi
sub/              |  5 | permanent-failure  | ../sub/../missing.gmi
sub/              |  6 | permanent-failure  | /cgi-bin/say/50
sub/              |  9 | too-many-redirects | /loop
sub/              | 10 | permanent-failure  | deep/missing.gmi
sub/              | 30 | connect            | gemini://11.9.9.9/page
sub/deep/page.gmi |  1 | permanent-failure  | /sub/dee
sub/deep/page.gmi |  2 | permanent-failure  | /missing.gmi#with-fragment
sub/deep/page.gmi |  3 | permanent-failure  | page.gm
sub/deep/page.gmi |  7 | permanent-failure  | ../deep/page
sub/deep/page.gmi |  8 | temporary-failure  | /cgi-bin/say/41
sub/deep/page.gmi | 12 | connect            | gemini://11.9.9.9:1970/other
crlf.gmi          |  3 | permanent-failure  | crlf.gmi%0D
crlf.gmi          |  4 | permanent-failure  | missing.gmi
crlf.gmi          |  8 | permanent-failure  | /cgi-bin/say/52
crlf.gmi          | 11 | bad-url            | gemini://[::1/
crlf.gmi          | 12 | too-many-redirects | /there
crlf.gmi          | 14 | resolve            | gemini://other.missing.example.org/a
pre.gmi           |  5 | permanent-failure  | /old
pre.gmi           |  9 | permanent-failure  | /old.gmi
pre.gmi           | 10 | permanent-failure  | missing.gmi?query
pre.gmi           | 13 | temporary-failure  | /cgi-bin/say/40
pre.gmi           | 14 | protocol-error     | /cgi-bin/say/99
pre.gmi           | 18 | permanent-failure  | %6Dissing.gmi
unended.gmi       |  1 | permanent-failure  | //localhost:1999/missing
unended.gmi       |  2 | permanent-failure  | gemini://localhost:1999/none
unended.gmi       |  4 | permanent-failure  | gemini://localhost:1999/none/
unended.gmi       |  6 | temporary-failure  | /cgi-bin/say/42
unended.gmi       | 40 | permanent-failure  | /cgi-bin/say/59
unended.gmi       | 41 | permanent-failure  | missing.gmi
with%20blank.gmi  |  2 | permanent-failure  | with
with%20blank.gmi  |  4 | permanent-failure  | blank.gmi
with%20blank.gmi  |  5 | permanent-failure  | with%20%20blank.gmi
with%20blank.gmi  |  6 | permanent-failure  | with+blank.gmi
with%20blank.gmi  | 13 | permanent-failure  | ./missing.gmi
with%20blank.gmi  | 14 | bad-url            | gemini://
END
}

# capsule_page PAGE: the page with its faults; on its other lines are good links, what robots or we
# do not follow, text, and a link within preformatted text. The first page leads to all others.
capsule_page() {
    faults | awk -F ' *[|] *' -v page="$1" '
        BEGIN {
            homes = split("sub/|sub/deep/page.gmi|crlf.gmi|pre.gmi|unended.gmi|with%20blank.gmi",
                home, "|")
            count = split("/|/sub/|mailto:a@example.org|/cgi-bin/say/10|/cgi-bin/say/20|/#fragment" \
                "|titan://localhost:1999/a|/closed/missing.gmi|gemini://10.1.2.3/|/to-page" \
                "|/with%20blank.gmi|/sub/..|telnet://example.org/|gemini://u@localhost:1999/none",
                good, "|")
        }
        $1 == page { targets[$2 + 0] = $4; if ($2 + 0 > last) last = $2 + 0 }
        function line(number) {
            if (number in targets) return "=> " targets[number] "\ta label"
            if (page == "" && number <= homes) return "=>" home[number]
            if (page == "pre.gmi" && (number == 6 || number == 8)) return "```"
            if (page == "pre.gmi" && number == 7) return "=> missing.gmi not a link"
            if (number % 5 == 0) return number % 2 ? "=>" : "=missing.gmi"
            return "=> " good[number % count + 1]
        }
        END {
            for (number = 1; number <= last; number++) {
                ends = page == "crlf.gmi" ? "\r\n" : page == "unended.gmi" && number == last ? "" : "\n"
                printf "%s%s", line(number), ends
            }
        }'
}

# capsule DIRECTORY: files for a server.
capsule() {
    mkdir -p "$1/sub/deep" "$1/cgi-bin"
    capsule_page '' >"$1/index.gmi"
    capsule_page sub/ >"$1/sub/index.gmi"
    capsule_page with%20blank.gmi >"$1/with blank.gmi"
    local page
    for page in sub/deep/page.gmi crlf.gmi pre.gmi unended.gmi; do
        capsule_page "$page" >"$1/$page"
    done
    printf 'User-agent: *\nDisallow: /closed/\n' >"$1/robots.txt"
    cat >"$1/cgi-bin/say" <<'END'
#!/bin/sh
printf '%s words\r\n' "${PATH_INFO#/}"
END
    chmod 755 "$1/cgi-bin/say"
}

# finds_the_faults: whether the lines in $work/found, of outcome, page and line, are those.
finds_the_faults() {
    sort "$work/found" | diff "$work/planted" - >"$out" || problem "the planted faults and no other"
}

link_checks() {
    local root=$work/capsule outer=$smallweb place=gemini://localhost:1999/ inside
    capsule "$root"
    certificate capsule
    molly_brown_conf "$root" "$work/capsule" >"$work/capsule.conf"
    cat >>"$work/capsule.conf" <<END
CGIPaths = ["$root/cgi-bin"]
[TempRedirects]
"^/loop\$" = "/loop"
"^/there\$" = "/back"
"^/back\$" = "/there"
"^/old.*\$" = "/missing.gmi"
"^/to-page\$" = "/crlf.gmi"
END
    set_inside
    start "$work/capsule.log" "${inside[@]}" molly-brown -c "$work/capsule.conf"
    check "crawl: molly-brown serves a capsule with 40 faults"
    if ! until_true "${enter[@]}" -t "$server" -n bash -c 'exec 3<>/dev/tcp/127.0.0.1/1999'; then
        cp "$work/capsule.log" "$err"
        return
    fi
    smallweb_inside in-capsule
    faults | awk -F ' *[|] *' -v place="$place" -v OFS='\t' '{ print $3, place $1, $2 + 0 }' \
        | sort >"$work/planted"
    must test "$(sort -u "$work/planted" | wc -l)" -eq 40

    check "crawl: --check finds them, with page and line, and no other"
    sw crawl --check --per-host-delay 0 --state "$work/check.jsonl" "$place"
    status_is 22
    cut -f 1,3,4 "$out" >"$work/found"
    finds_the_faults

    check "crawl: --check says the same in records"
    sw crawl --check --per-host-delay 0 --state "$work/check-json.jsonl" --json "$place"
    status_is 22
    jq -r 'select(.type == "link" and .outcome != null)
        | select(.outcome | IN("ok", "needs-input", "unchecked") | not)
        | [.outcome, .page, .line] | @tsv' "$out" >"$work/found"
    finds_the_faults
    finish_check
    smallweb=$outer
    stop "$server"
}

if section python3 openssl; then
    for way in mirror archive check checks disk rounds records secrets; do
        check "crawl: $way, of a space whose truth is known"
        patiently python3 "$here/crawl-truth.py" "$smallweb" "$way" >"$out" 2>"$err" \
            || problem "crawl-truth.py $way"
        finish_check
        ! grep -q '^skipped' "$out" || skip "crawl: $way: $(sed 's/.*skipped, //' "$out")"
    done
fi
if section python3 openssl jq; then
    check "crawl: the judge tells a crawler that obeys from one that does not"
    patiently python3 "$space" selftest >"$out" 2>"$err" || problem "space.py selftest"
    space_checks
    mirror_checks
fi
if section python3 openssl unshare nsenter ip; then
    if find_namespaces; then network_checks; else skip "crawl: public addresses need a namespace"; fi
fi
if section molly-brown openssl jq unshare nsenter ip; then
    if find_namespaces; then link_checks; else skip "crawl: molly-brown needs a namespace"; fi
fi
