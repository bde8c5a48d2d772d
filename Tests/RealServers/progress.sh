# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# What a person sees of a slow download, in a terminal that tmux plays.

# guarded WORD…: as run_there, from a shell that survives Ctrl-C and leaves the terminal as it finds
# it, where an interactive one would put it right again.
guarded() {
    local line
    command=("$@")
    printf -v line ' %q' "$work/guarded.run" "$@"
    press -l "clear;${line}"
    keys Enter
}

has_bar() { look && grep -qE "$bar" "$out"; }
# has_wrapped TEXT: as has_text, of a line that the terminal may have wrapped.
has_wrapped() { screen capture-pane -pJ -t 0 >"$out" && grep -qF -e "$1" "$out"; }
first_line_is() { look && [ "$(head -n 1 "$out")" = "$1" ]; }
# has_after_5 PATTERN: whether such a line follows the last one of `seq 5`.
has_after_5() { look && grep -A 1 -xF 5 "$out" | tail -n 1 | grep -qE "$1"; }

# ends_with_clean_screen STATUS: nothing of bar or line is left, and the terminal is as it was.
ends_with_clean_screen() {
    on_screen "status=$1"
    must_not grep -qE '\[[=>]|KiB|left|connecting|waiting' "$out"
    screen_says ' echo '
    must_not grep -qE -- '-(echo|icanon|isig)( |;|$)' "$out"
    must test "$(screen display-message -p -t 0 '#{cursor_flag}')" -eq 1
}

progress_checks() {
    local socket=smallweb-progress-$$ files=$work/progress silent site
    local bar='^ 50% \[=+> +\] 512\.0 KiB of 1\.0 MiB, [0-9.]+ (B|KiB|MiB)/s, [-0-9:]+ left$'
    mkdir "$files"
    make_big
    script silent.run <<'END_OF_SCRIPT'
exec cat >/dev/null
END_OF_SCRIPT
    # Half of it, and the rest when there is a file called gate.
    script slow.run <<END_OF_SCRIPT
while IFS= read -r line && [ "\$line" != \$'\r' ]; do :; done
printf 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1048576\r\n\r\n'
head -c 524288 "$big"
until [ -e "$work/gate" ]; do sleep 0.05; done
head -c 524288 "$big"
END_OF_SCRIPT
    script guarded.run <<END_OF_SCRIPT
trap : INT
smallweb "\$@"
echo "status=\$?"
stty -a
END_OF_SCRIPT
    serve silent "$work/silent.run" || return
    silent=gemini://localhost:$port
    serve slow "$work/slow.run" || return
    site=http://localhost:$port
    open_screen 90 24
    check "progress: a terminal"
    on_screen 'ready>'

    check "progress: who is waited for is said, and Ctrl-C ends it"
    guarded get -o "$files/silent" "$silent/"
    screen_says 'connecting to 127.0.0.1'
    keys C-c
    ends_with_clean_screen 130
    holds_only "$files" ''

    check "progress: a slow download has a bar with rate and time, which is erased at the end"
    run_there get -o "$files/slow" "$site/slow"
    until_true has_bar
    holds_only "$files" './slow.part '
    : >"$work/gate"
    until_true first_line_is 'status=0'
    must_not grep -qE '\[[=>]|KiB|left' "$out"
    must test "$(wc -c <"$files/slow")" -eq 1048576
    rm "$files/slow" "$work/gate"

    check "progress: Ctrl-C in the middle leaves a part and a clean terminal"
    guarded get -o "$files/slow" "$site/slow"
    until_true has_bar
    keys C-c
    until_true has_wrapped 'slow.part has the part that came: -C - continues it'
    ends_with_clean_screen 130
    holds_only "$files" './slow.part '
    rm "$files/slow.part"

    check "progress: Ctrl-C behind what is typed ahead leaves nothing of the bar"
    guarded get -o "$files/slow" "$site/slow"
    until_true has_bar
    keys -l 'some words that are typed ahead'
    keys C-c
    ends_with_clean_screen 130
    rm "$files/slow.part"

    check "progress: a shell knows that Ctrl-C ended it"
    run_there get -o "$files/slow" "$site/slow"
    until_true has_bar
    keys C-c
    on_screen 'ready>'
    keys -l 'echo "it was $?"'
    keys Enter
    on_screen 'it was 130'
    screen_lacks 'status='
    screen_lacks 'KiB'
    holds_only "$files" './slow.part '
    rm "$files/slow.part"

    check "progress: a window that becomes narrower keeps no part of the old bar"
    command=(get -o "$files/slow" "$site/slow")
    press -l "clear; seq 5; smallweb ${command[*]}; echo status=\$?"
    keys Enter
    until_true has_bar
    screen resize-window -t 0 -x 40 -y 24
    until_true has_after_5 '^50% of 1\.0 MiB, .* left$'
    screen resize-window -t 0 -x 100 -y 24
    until_true has_after_5 "$bar"
    : >"$work/gate"
    until_true has_after_5 '^status=0$'
    rm "$work/gate"

    check "progress: Ctrl-C at a sensitive prompt shows nothing of what was typed"
    guarded get "$scripted_tls/secret"
    screen_says 'Your password'
    keys -l 'hus'
    keys C-c
    ends_with_clean_screen 130
    screen_lacks hus
    finish_check
    screen kill-server
}

if section tmux && [ -n "${scripted_tls:-}" ]; then progress_checks; fi
