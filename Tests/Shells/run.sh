#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Presses TAB in real shells, and reads the scripts and manual pages as other programs do.
# usage: run.sh SMALLWEB
# With CI=true a missing shell is a failure.
set -u
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
root=$(realpath "$here/../..")
smallweb=$(realpath "${SMALLWEB:-${1:?usage: run.sh SMALLWEB}}")
programs=$(mktemp -d "${TMPDIR:-/tmp}/smallweb-bin.XXXXXX")
ln -s "$smallweb" "$programs/smallweb"
trap 'rm -rf "$programs"' EXIT
failed=0

has() {
    command -v "$1" >/dev/null && return
    echo "skipped - $1 is not installed"
    [ "${CI:-}" != true ] || failed=1
    return 1
}

must() {
    if "$@"; then echo "ok - $*"; else
        echo "not ok - $*"
        failed=1
    fi
}

drive() { must timeout -k 5 120 python3 "$here/drive.py" "$1" "$programs" "$root/completions/$2" "${@:3}"; }

if has bash; then
    must bash -n "$root/completions/smallweb.bash"
    drive bash smallweb.bash
    if [ -f /usr/share/bash-completion/bash_completion ]; then drive bash smallweb.bash lazy; fi
fi
if has zsh; then
    must zsh -n "$root/completions/_smallweb"
    drive zsh _smallweb
    drive zsh _smallweb lazy
fi
if has fish; then
    must fish -n "$root/completions/smallweb.fish"
    drive fish smallweb.fish
    drive fish smallweb.fish lazy
fi
if has shellcheck; then must shellcheck "$root/completions/smallweb.bash"; fi

# Regular expressions would be a tenth of the binary and of the page faults of a start. One call of
# the standard library's search for a text in a text links them: StringSearch.swift is for that.
if has nm; then
    symbols=$(nm "$smallweb")
    must grep -q SmallWebCore <<<"$symbols"
    found=$(grep -c -e _StringProcessing -e _RegexParser <<<"$symbols")
    must test "$found" -eq 0
fi

if has mandoc; then
    lint=$(mandoc -T lint "$root"/man/*.[157] 2>&1 | grep -v -e 'referenced manual not found')
    must test -z "$lint"
    printf '%s' "$lint"
fi

if has man && has lexgrog; then
    for page in "$root"/man/*.[157]; do
        # What lintian asks.
        warnings=$(MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" \
            2>&1 >/dev/null)
        if [ -n "$warnings" ] || ! lexgrog "$page" >/dev/null; then
            echo "not ok - man reads ${page##*/}: $warnings"
            failed=1
        fi
    done
fi

# Every example of the manual and of README.md, in a network of its own.
if has git && has jq && has openssl && has ip; then
    # With processes of its own, too: git daemon's child would outlive it, and whoever reads our output
    # would wait for that.
    own=(unshare --map-root-user --net --mount --pid --fork --kill-child)
    if "${own[@]}" true 2>/dev/null; then
        must "${own[@]}" python3 "$here/examples.py" "$programs/smallweb" "$root"
    else
        echo "skipped - the examples: this machine gives no namespaces"
    fi
fi

# What `make install` puts somewhere, `make uninstall` takes away, and nothing else.
stage=$programs/stage
must make -s -C "$root" install-files BIN="$smallweb" DESTDIR="$stage" PREFIX=/usr
for file in bin/smallweb share/man/man1/smallweb-get.1 share/man/man5/smallweb-known_hosts.5 \
    share/bash-completion/completions/smallweb.bash share/zsh/vendor-completions/_smallweb \
    share/fish/vendor_completions.d/smallweb.fish share/smallweb/schema/v1.json \
    share/smallweb/schema/plugin-v1.json share/smallweb/schema/plugin-event-v1.json \
    share/smallweb/fixtures/gopher/text.wire share/applications/smallweb.desktop; do
    must test -f "$stage/usr/$file"
done
# Every plugin, by the fixtures that were installed with it. There are none where libcurl makes the
# connections, and none of uploads.
installed() { env -u XDG_DATA_HOME HOME="$programs/nowhere" XDG_DATA_DIRS="$stage/usr/share" "$@"; }
if has jq; then
    plugins=$(installed "$stage/usr/bin/smallweb" plugin list --json | jq -r .name)
    must test "$(wc -w <<<"$plugins")" -ge 10
    for plugin in $plugins; do
        case $plugin in http | titan) continue ;; esac
        if installed "$stage/usr/bin/smallweb" plugin test "$plugin" >"$programs/report" 2>&1; then
            echo "ok - plugin test $plugin, $(wc -l <"$programs/report") fixtures"
        else
            echo "not ok - plugin test $plugin"
            grep -v '^ok ' "$programs/report"
            failed=1
        fi
    done
fi
must make -s -C "$root" uninstall DESTDIR="$stage" PREFIX=/usr
must test -z "$(find "$stage" -type f)"
# Nothing of somebody else's.
touch "$stage/usr/bin/other" "$stage/usr/share/man/man1/other.1"
must make -s -C "$root" uninstall DESTDIR="$stage" PREFIX=/usr
must test "$(find "$stage" -type f | wc -l)" -eq 2

if has desktop-file-validate; then
    must desktop-file-validate "$root/docs/packaging/smallweb.desktop"
fi
if has dpkg-deb && has dpkg-shlibdeps; then must "$here/package.sh" "$smallweb"; fi

# A TAB is answered in 50 ms, whatever was visited: the best of twenty, since others use the machine.
mkdir -p "$programs/home/.local/state/smallweb"
for i in $(seq 5000); do
    printf '1795212233\tgemini://host%d.example/page/%d\n' $((i % 300)) "$i"
done >"$programs/home/.local/state/smallweb/history"
milliseconds=$(HOME=$programs/home python3 - "$smallweb" <<'PYTHON'
import subprocess, sys, time
def seconds(words):
    start = time.monotonic()
    answer = subprocess.run([sys.argv[1], "__complete", "get"] + words, stdout=subprocess.PIPE)
    assert answer.stdout.count(b"\n") > 1, answer
    return time.monotonic() - start
print(round(1000 * max(min(seconds([word]) for _ in range(20))
                       for word in ("", "gemini://", "gemini://host7.example/", "host299"))))
PYTHON
)
must test "$milliseconds" -le 50
echo "5,000 visits: $milliseconds ms for a TAB"

# Whatever is asked of it, __complete makes no connection and no file.
if has strace; then
    trace=$programs/trace
    for words in 'get gemini://' 'get ge' 'get -' 'get gemini://a.example/b' 'trust show x' \
        'get --identity a' 'get --fields url,s' 'help e'; do
        # shellcheck disable=SC2086 # several words
        HOME=$programs/nowhere strace -f -o "$trace" "$smallweb" __complete $words >/dev/null
        must test "$(grep -cE 'connect\(|O_WRONLY|O_RDWR|O_CREAT' "$trace")" -eq 0
        # shellcheck disable=SC2086
        env -u HOME "$smallweb" __complete $words >/dev/null || must false
    done
    # To explain is to write nothing and to call nobody.
    strace -f -o "$trace" "$smallweb" explain -O gemini://127.0.0.1/a gopher://127.0.0.1/ \
        git://127.0.0.1/r.git https://127.0.0.1/ git+http://127.0.0.1/r.git >/dev/null
    must test "$(grep -cE 'open(at)?\(.*(O_WRONLY|O_RDWR|O_CREAT)' "$trace")" -eq 0
    # libcurl writes its request into a socket of our own.
    must test "$(grep -F 'connect(' "$trace" | grep -cvF 'AF_UNIX, sun_path=@')" -eq 0
fi
exit "$failed"
