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
# shellcheck source-path=SCRIPTDIR source=../checks.sh
. "$here/../checks.sh"

# drive SHELL SCRIPT [lazy]: only a shell that hangs takes as long.
drive() {
    must "$1${3:+ ($3)} answers every TAB" \
        timeout -k 5 600 python3 "$here/drive.py" "$1" "$programs" "$root/completions/$2" "${@:3}"
}

for shell in bash zsh fish; do
    has "$shell" "completion in $shell" || continue
    script=$([ "$shell" = zsh ] && echo _smallweb || echo "smallweb.$shell")
    must "$shell reads completions/$script" "$shell" -n "$root/completions/$script"
    drive "$shell" "$script"
    if [ "$shell" != bash ] || [ -f /usr/share/bash-completion/bash_completion ]; then
        drive "$shell" "$script" lazy
    else
        lacks "completion in bash (lazy)" "bash-completion is not installed"
    fi
done
if has shellcheck "the lint of completions/smallweb.bash"; then
    must "shellcheck finds nothing in completions/smallweb.bash" \
        shellcheck "$root/completions/smallweb.bash"
fi

# Regular expressions would be a tenth of the binary and of the page faults of a start. One call of
# the standard library's search for a text in a text links them: StringSearch.swift is for that.
if has nm "the symbols of the binary"; then
    symbols=$(nm "$smallweb")
    must "nm shows the functions of the binary" grep -q SmallWebCore <<<"$symbols"
    found=$(grep -c -e _StringProcessing -e _RegexParser <<<"$symbols")
    same "the binary has no function of regular expressions" 0 "$found"
fi

if has mandoc "the lint of the manual"; then
    # The -- that ends options is written as it is typed.
    lint=$(mandoc -T lint "$root"/man/*.[157] 2>&1 | grep -v -e 'referenced manual not found' \
        -e 'verbatim "--"')
    same "mandoc finds nothing in the manual" '' "$lint"
fi

if has man "the manual in man" && has lexgrog "the manual in man"; then
    for page in "$root"/man/*.[157]; do
        # What lintian asks.
        warnings=$(MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" \
            2>&1 >/dev/null)
        lexgrog "$page" >/dev/null || warnings+='lexgrog finds no name'
        same "man reads ${page##*/}" '' "$warnings"
    done
fi

# What `make install` puts somewhere, `make uninstall` takes away, and nothing else.
stage=$programs/stage
must "make install-files succeeds" \
    make -s -C "$root" install-files BIN="$smallweb" DESTDIR="$stage" PREFIX=/usr
for file in bin/smallweb share/man/man1/smallweb-get.1 share/man/man5/smallweb-known_hosts.5 \
    share/bash-completion/completions/smallweb.bash share/zsh/vendor-completions/_smallweb \
    share/fish/vendor_completions.d/smallweb.fish share/smallweb/schema/v1.json \
    share/smallweb/schema/plugin-v1.json share/smallweb/schema/plugin-event-v1.json \
    share/smallweb/fixtures/gopher/text.wire share/applications/smallweb.desktop; do
    must "make install-files installs $file" test -f "$stage/usr/$file"
done
# Every plugin, by the fixtures that were installed with it. There are none where libcurl makes the
# connections, and none of uploads.
installed() { env -u XDG_DATA_HOME HOME="$programs/nowhere" XDG_DATA_DIRS="$stage/usr/share" "$@"; }
if has jq "the plugins that are installed"; then
    plugins=$(installed "$stage/usr/bin/smallweb" plugin list --json | jq -r .name)
    must "plugin list names ten plugins or more" test "$(wc -w <<<"$plugins")" -ge 10
    for plugin in $plugins; do
        case $plugin in http | titan) continue ;; esac
        if installed "$stage/usr/bin/smallweb" plugin test "$plugin" >"$programs/report" 2>&1; then
            passes "plugin test $plugin, $(wc -l <"$programs/report") fixtures"
        else
            fails "plugin test $plugin"
            grep -v '^ok ' "$programs/report" | sed 's/^/    /'
        fi
    done
fi
must "make uninstall succeeds" make -s -C "$root" uninstall DESTDIR="$stage" PREFIX=/usr
same "make uninstall leaves nothing that was installed" '' "$(find "$stage" -type f)"
touch "$stage/usr/bin/other" "$stage/usr/share/man/man1/other.1"
make -s -C "$root" uninstall DESTDIR="$stage" PREFIX=/usr
same "make uninstall leaves the files of others" 2 "$(find "$stage" -type f | wc -l)"

if has desktop-file-validate "the lint of the desktop entry"; then
    must "desktop-file-validate finds nothing in docs/packaging/smallweb.desktop" \
        desktop-file-validate "$root/docs/packaging/smallweb.desktop"
fi
if has dpkg-deb "the Debian package" && has dpkg-shlibdeps "the Debian package"; then
    "$here/package.sh" "$smallweb" || failed=1
fi

# A TAB is answered in 50 ms, whatever was visited: one of a hundred, since others use the machine.
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
def best(word):
    least = 1
    for _ in range(100):
        least = min(least, seconds([word]))
        if least <= 0.05:
            break
    return least
print(round(1000 * max(map(best, ("", "gemini://", "gemini://host7.example/", "host299")))))
PYTHON
)
must "with 5,000 visits a TAB takes $milliseconds ms, of 50" test "$milliseconds" -le 50

# Whatever is asked of it, __complete makes no connection and no file.
if has strace "the system calls of completion and explain"; then
    trace=$programs/trace
    for words in 'get gemini://' 'get ge' 'get -' 'get gemini://a.example/b' 'trust show x' \
        'get --identity a' 'get --fields url,s' 'help e'; do
        # shellcheck disable=SC2086 # several words
        HOME=$programs/nowhere strace -f -o "$trace" "$smallweb" __complete $words >/dev/null
        same "__complete $words makes no connection and no file" '' \
            "$(grep -E 'connect\(|O_WRONLY|O_RDWR|O_CREAT' "$trace")"
        # shellcheck disable=SC2086
        env -u HOME "$smallweb" __complete $words >/dev/null
        same "__complete $words works without HOME" 0 $?
    done
    strace -f -o "$trace" "$smallweb" explain -O gemini://127.0.0.1/a gopher://127.0.0.1/ \
        git://127.0.0.1/r.git https://127.0.0.1/ git+http://127.0.0.1/r.git >/dev/null
    same "explain opens no file for writing" '' \
        "$(grep -E 'open(at)?\(.*(O_WRONLY|O_RDWR|O_CREAT)' "$trace")"
    # libcurl writes its request into a socket of our own.
    same "explain connects to no server" '' \
        "$(grep -F 'connect(' "$trace" | grep -vF 'AF_UNIX, sun_path=@')"
fi
exit "$failed"
