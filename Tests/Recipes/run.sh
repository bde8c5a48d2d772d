#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the recipes of docs/recipes.md with the programs that they are for. What is not installed is
# skipped, but in CI only Emacs, mpv, Chawan, Neovim and promtool may be missing. For some recipes,
# smallweb-loopback is where SMALLWEB is.
# usage: run.sh SMALLWEB
set -u
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
root=$(realpath "$here/../..")
# shellcheck source-path=SCRIPTDIR source=../checks.sh
. "$here/../checks.sh"
smallweb=$(realpath "${1:?usage: run.sh SMALLWEB}")
server='' loopback=''
python=$root/.build/jetforce/bin/python
[ -x "$python" ] && "$python" -c 'import feedparser' 2>/dev/null || python=${PYTHON:-python3}
work=$(mktemp -d "${TMPDIR:-/tmp}/smallweb-recipes.XXXXXX")
# shellcheck disable=SC2086,SC2317 # none or more; it is called at the end
clean_up() {
    kill $server $loopback 2>/dev/null
    rm -rf "$work"
}
at_exit clean_up
mkdir -p "$work/bin" "$work/pages/log" "$work/home"
ln -s "$smallweb" "$work/bin/smallweb"
export PATH="$work/bin:$root/docs/examples/recipes:$PATH" HOME=$work/home
# make gives its variables to its recipes, and LESS=test is options of less there.
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME LESS
# has PROGRAM: whether it is there; without it, what needs it is skipped.
has() {
    command -v "$1" >/dev/null && return
    echo "skipped - $1 is not installed"
    case $1 in emacs | mpv | cha | nvim | promtool) ;; *) [ "${CI:-}" != true ] || failed=1 ;; esac
    return 1
}

cat >"$work/pages/log/index" <<'PAGE'
A log
=> two.txt 2024-04-06 The second & <best>
=> one.txt 2024-04-05 The "first" ]]>
=> about.txt About
PAGE
echo "The second page" >"$work/pages/log/two.txt"
python3 "$here/nex-server.py" "$work/pages" >"$work/port" &
server=$!
for _ in $(seq 1000); do
    [ -s "$work/port" ] && break
    sleep 0.01
done
place=nex://127.0.0.1:$(cat "$work/port")
log=$place/log/

if "$python" -c 'import feedparser' 2>/dev/null; then
    must "feedparser finds the entries of every page in every format" "$python" "$here/feeds.py" smallweb
    must "feeds of a hundred shapes are read as feedparser reads them" \
        "$python" "$root/Tests/RealServers/feed-shapes.py" smallweb
else
    echo "skipped - feedparser is not installed"
fi

if has newsboat; then
    printf '"exec:smallweb feed %s" "~A log"\n' "$log" >"$work/urls"
    newsboat -u "$work/urls" -c "$work/cache" -x reload >"$work/out" 2>&1
    must "newsboat reads a page" test "$(newsboat -u "$work/urls" -c "$work/cache" -x print-unread)" = "2 unread articles"
fi

if "$python" -c 'import urlwatch' 2>/dev/null; then
    urlwatch=$(dirname "$python")/urlwatch
    printf 'name: A log\ncommand: smallweb feed --format gemtext %s\n' "$log" >"$work/urls.yaml"
    watch() { "$urlwatch" --urls "$work/urls.yaml" --config "$work/config.yaml" --cache "$work/seen.db" --hooks "$work/hooks.py"; }
    watch >"$work/out" 2>&1
    must "urlwatch runs a job" grep -qi 'new: A log' "$work/out"
    watch >"$work/out" 2>&1
    must "urlwatch finds nothing new" test ! -s "$work/out"
    sed -i 's/first/last/' "$work/pages/log/index"
    watch >"$work/out" 2>&1
    must "urlwatch finds a change" grep -q '^+.*The "last"' "$work/out"
else
    echo "skipped - urlwatch is not installed"
fi

if has less; then
    # Of a terminal that it does not know less would ask first.
    # shellcheck disable=SC2317 # it is called by its name
    less_shows() {
        TERM=xterm LESSOPEN='|smallweb-lessopen %s' timeout 60 python3 "$root/Tests/terminal.py" less -FX "$1" \
            <"$work/keys" >"$work/out" 2>&1
        grep -q "$2" "$work/out"
    }
    mkfifo "$work/keys"
    exec 7<>"$work/keys"
    # shellcheck disable=SC2317
    details() { cat -v "$work/out"; }
    must "less opens a URL" eventually less_shows "$log" 'The second'
    details() { :; }
    exec 7>&-
fi

if has fzf; then
    chosen=$(smallweb links "$log" | fzf --delimiter '\t' --with-nth 2.. --filter second | cut -f1)
    must "fzf chooses a link" test "$chosen" = "${log}two.txt"
fi

if has w3m; then
    mkdir -p "$HOME/.w3m/cgi-bin"
    cp "$root/docs/examples/recipes/smallweb.cgi" "$HOME/.w3m/cgi-bin"
    printf 'nex: file:/cgi-bin/smallweb.cgi?%%s\n' >"$HOME/.w3m/urimethodmap"
    w3m -dump -o cgi_bin="$HOME/.w3m/cgi-bin" -o urimethodmap="$HOME/.w3m/urimethodmap" "$log" >"$work/out"
    must "w3m shows a page" grep -q 'The second & <best>' "$work/out"
fi

if has cha; then
    mkdir -p "$HOME/.chawan/cgi-bin"
    cp "$root/docs/examples/recipes/smallweb.cgi" "$HOME/.chawan/cgi-bin"
    printf 'nex: cgi-bin:smallweb.cgi?%%s\n' >"$HOME/.chawan/urimethodmap"
    cha -d "$log" >"$work/out"
    must "Chawan shows a page" grep -q 'The second & <best>' "$work/out"
fi

if has emacs; then
    emacs --batch -L "$root/docs/examples/recipes" -l smallweb --eval \
        "(progn (smallweb \"$log\") (princ (with-current-buffer \"*smallweb $log*\" (buffer-string))))" >"$work/out" 2>/dev/null
    must "Emacs shows a page" grep -q 'The second' "$work/out"
fi

if has mpv; then
    python3 -c 'import wave,sys; w = wave.open(sys.argv[1], "wb"); w.setparams((1, 2, 8000, 0, "NONE", "")); w.writeframes(bytes(8000)); w.close()' "$work/pages/a.wav"
    smallweb get -o - "$place/a.wav" | mpv --no-config --ao=null --really-quiet -
    must "mpv plays what comes" test "${PIPESTATUS[1]}" -eq 0
fi

# Pages of Gemini and Gopher.
mkfifo "$work/stdin"
"${smallweb%/*}/smallweb-loopback" <"$work/stdin" >"$work/places" &
loopback=$!
exec 3>"$work/stdin"
# shellcheck disable=SC2317 # eventually calls it
is_settled() { grep -q '^ready' "$work/places" || ! kill -0 "$loopback"; }
eventually is_settled
must "the servers of smallweb-loopback have started" kill -0 "$loopback"
served() { awk -v scheme="$1" '$1 == scheme { print $1 "://" $2 ":" $3 }' "$work/places"; }

# shows_pages NAME EDITOR…: with smallweb.vim, without a screen. Vim's status says nothing here.
shows_pages() {
    rm -f "$work/failures"
    (cd "$work" && GEMINI=$(served gemini) GOPHER=$(served gopher) FAILURES=$work/failures \
        timeout -k 5 300 "${@:2}" -u NONE -i NONE -S "$root/docs/examples/recipes/smallweb.vim" \
        -S "$here/check.vim" </dev/null >"$work/out" 2>&1)
    must "$1 ends the check of its pages" test -f "$work/failures"
    same "$1 shows pages and follows their links" '' "$(cat "$work/failures")"
}
if has vim; then shows_pages Vim vim -N -es; fi
if has nvim; then shows_pages Neovim nvim --headless; fi

if has jq; then
    smallweb-metrics "$(served gemini)/" "$(served gopher)/0/none" >"$work/metrics" 2>/dev/null
    must "smallweb-metrics has its own status" test $? -eq 0
    must "the metrics are Prometheus' text format, and of the run" \
        python3 "$here/metrics.py" "$work/metrics" 'smallweb_requests{exit="0"}=1' \
        'smallweb_requests{exit="22"}=1' smallweb_failures=1
    must_not "smallweb-metrics fails without a summary" smallweb-metrics --nonsense 2>/dev/null
    if has promtool; then
        must "promtool finds nothing in the metrics" promtool check metrics <"$work/metrics"
    fi
fi

# As they are written in the document.
if has sqlite3; then
    sed -n '/^## SQL/,/^## An/s/^    //p' "$root/docs/recipes.md" >"$work/sql.sh"
    gemini=$(served gemini) gopher=$(served gopher)
    printf '%s\n' "$gemini/"{about,1k,slow,status/51} "$gopher/0/it's%20%22here%22" >"$work/urls.txt"
    (cd "$work" && bash sql.sh >out)
    awk '/127/ { print $2, $4, $6 }' "$work/out" >"$work/rows"
    same "SQL counts the pages of each host by their outcome" "$(printf '%s\n' "${gemini##*/} ok 3" \
        "${gemini##*/} permanent-failure 1" "${gopher##*/} permanent-failure 1" | sort)" "$(sort "$work/rows")"
    must "SQL has the slowest first" grep -q ' ok ' <(head -n 1 "$work/rows")
fi

git init -q "$work/source"
(
    cd "$work/source" || exit
    git config user.email a@example.org
    git config user.name A
    git checkout -qb main
    for text in one two three; do
        echo "$text" >file
        git add file
        git commit -qm "$text"
        [ "$text" != two ] || git gc -q
    done
    git tag -a v1 -m v1
)
cp -r "$work/source/.git" "$work/pages/repo.git"
git -C "$work/pages/repo.git" update-server-info
must "git clones over Nex" git clone -q "$place/repo.git" "$work/clone"
must "the clone is whole" git -C "$work/clone" fsck --strict
must "it has the last commit" test "$(cat "$work/clone/file")" = three
must "it has the tag" test "$(git -C "$work/clone" tag)" = v1

cat >"$work/coprocess.py" <<'PYTHON'
import json, subprocess, sys
web = subprocess.Popen(["smallweb", "get", "--json", "--with-links", "-s", "-"],
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
web.stdin.write(sys.argv[1].encode() + b"\n")
web.stdin.flush()
for line in web.stdout:
    record = json.loads(line)
    if record["type"] == "link":
        print(record["url"])
    elif record["type"] in ("response", "error"):
        print(record["outcome"])
        break
PYTHON
must "a co-process answers" test "$(python3 "$work/coprocess.py" "$log" | tail -n 1)" = ok
exit "$failed"
