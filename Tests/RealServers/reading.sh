# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# `smallweb open` and the pager, in a terminal that tmux plays: keys go in, the screen comes out.

# quits: answers what is asked after a page.
quits() {
    screen_says 'q quit:'
    press q
    on_screen 'status=0'
}

# leads_to KEY LINE: presses a key of less and looks: with a signal, less may lose what is typed.
leads_to() {
    keys "$1"
    has_line "$2"
}

# at_prompt: waits until the last line of the screen asks, and nothing is typed behind it.
at_prompt() { until_true last_line_asks; }
last_line_asks() { look && grep -v '^$' "$out" | tail -n 1 | grep -q 'q quit:$'; }

# terminal_is_restored: whether the shell's terminal shows what is typed and gives lines.
terminal_is_restored() {
    keys -l 'clear; stty -a | tr ";" "\n" | grep -owE -e "-?(echo|icanon|isig)" | tr "\n" " "; stty -a | grep -o "susp = [^;]*"'
    keys Enter
    screen_says 'isig icanon echo susp = ^Z'
}

reading_checks() {
    local socket=smallweb-$$ site line number
    script reading.run <<'END'
IFS= read -r line
line=${line%$'\r'}
printf '20 text/gemini\r\n'
case ${line#gemini://*/} in
    short) printf 'Short enough.\n=> /a A link\n' ;;
    wide) printf '# \033[31mred\n=> mailto:ada@example.org Mail\n' ;;
    endless) for number in $(seq 60000); do echo "line $number of very many"; done ;;
    *)
        printf '# A page\r\nThese words are meant to be longer than a line of forty.\r\n'
        printf '=> /next The next page\r\n=> gopher://hole.example/1/ A hole\r\n'
        for number in 1 2 3 4 5 6; do printf '日本語本'; done
        printf '\r\n```\nas   it   is\n```\n'
        for number in $(seq 40); do printf '* item %s\n' "$number"; done
        ;;
esac
exit 0
END
    serve reading "cert=$work/scripted.pem" "$work/reading.run" || return
    site=gemini://localhost:$port
    open_screen 40 16
    check "reading: a terminal"
    on_screen 'ready>'

    check "reading: a page is wrapped at the width, its links numbered"
    run_there open "$site/"
    on_screen 'These words are meant to be longer than'
    on_screen 'a line of forty.'
    on_screen '[1] The next page'
    on_screen '[2] A hole'
    on_screen 'as   it   is'
    must_not grep -qF -e ']8;' -e '[36m' "$out"

    check "reading: wide characters take two columns"
    on_screen '日本語本日本語本日本語本日本語本日本語本'
    on_screen '日本語本'

    check "reading: Ctrl-C belongs to the pager"
    keys C-c
    until_true leads_to G '[2] gopher://hole.example/1/'
    on_screen "[1] $site/next"
    keys C-c
    until_true leads_to g '# A page'
    screen_lacks 'status='
    keys q
    quits

    check "reading: the next page has the width of a resized window"
    screen resize-window -t 0 -x 64 -y 16
    run_there open "$site/"
    on_screen 'These words are meant to be longer than a line of forty.'
    keys q
    quits

    check "reading: a page that fits needs no key"
    run_there open "$site/short"
    on_screen 'Short enough.'
    on_screen "[1] $site/a"
    quits

    check "reading: a number opens that link, b goes back"
    run_there open "$site/short"
    screen_says 'link 1, ? keys, q quit:'
    press 1 Enter
    on_screen '# A page'
    keys q
    screen_says 'link 1-2, b back, ? keys, q quit:'
    press b
    on_screen 'Short enough.'
    quits

    check "reading: the first line is the URL, the rest is harmless"
    run_there open --color always "$site/wide"
    screen_says 'q quit:'
    on_screen "$site/wide"
    on_screen '# red'
    quits

    check "reading: a line can be edited, arrows are not keys"
    run_there open "$site/short"
    screen_says 'q quit:'
    keys Up Left -l 'g /wode'
    keys BSpace BSpace BSpace
    keys -l 'ide'
    screen_says 'quit: g /wide'
    keys C-u
    screen_lacks 'g /w'
    keys -l 'g wide'
    keys Enter
    on_screen "$site/wide"
    at_prompt
    keys u
    screen_says 'quit: u'
    quits

    check "reading: less searches, and shows a page that fits the screen, too"
    run_there open "$site/"
    on_screen '# A page'
    keys q
    at_prompt
    keys -l '/item 3[45]'
    keys Enter
    on_screen '• item 34'
    screen_lacks 'item 33'
    keys n
    on_screen '• item 35'
    screen_lacks 'item 34'
    keys q
    at_prompt
    keys -l 'g short'
    keys Enter
    on_screen 'Short enough.'
    at_prompt
    keys -l '/no such words'
    keys Enter
    screen_says 'Pattern not found'
    keys Enter
    on_screen 'Short enough.'
    keys q
    at_prompt
    quits

    check "reading: Ctrl-Z stops it, with the terminal as it was before"
    keys -l 'clear; smallweb open'" $site/short"
    keys Enter
    screen_says 'q quit:'
    keys -l 'g wi'
    screen_says 'quit: g wi'
    keys C-z
    screen_says 'Stopped'
    terminal_is_restored
    keys -l 'clear; fg; echo status=$?'
    keys Enter
    screen_says 'quit: g wi'
    keys -l 'de'
    keys Enter
    on_screen '# red'
    quits

    check "reading: Ctrl-C after a page"
    run_there open "$site/short"
    screen_says 'q quit:'
    keys -l 'g half'
    screen_says 'quit: g half'
    keys C-c
    # The shell gives up the rest of its line when a program dies of SIGINT.
    on_screen 'ready>'
    keys -l 'echo status=$?'
    keys Enter
    on_screen 'status=130'
    terminal_is_restored

    check "reading: Ctrl-D ends the session"
    run_there open "$site/short"
    screen_says 'q quit:'
    keys C-d
    on_screen 'status=0'
    terminal_is_restored

    check "reading: another program has the terminal, and Ctrl-C"
    mkdir -p "$work/desktop"
    script desktop/xdg-open <<'END'
printf '<%s>\n' "$@"
read -r line
echo "read $line"
read -r line
END
    keys -l "PATH=$work/desktop:\$PATH"
    keys Enter
    run_there open "$site/wide"
    screen_says 'q quit:'
    keys -l 'x 1'
    keys Enter
    on_screen '<mailto:ada@example.org>'
    keys 'words' Enter
    on_screen 'read words'
    keys C-c
    screen_says 'xdg-open could not open mailto:ada@example.org (exit'
    quits

    check "reading: the pager may leave before the page is at its end"
    run_there open "$site/endless"
    on_screen 'line 1 of very many'
    keys q
    quits
    screen_lacks 'smallweb: '

    check "reading: PAGER names another one, or none"
    keys -l 'export PAGER="head -n 1"'
    keys Enter
    run_there open "$site/endless"
    screen_says "$site/endless"
    quits
    screen_lacks 'line 1 of very many'
    keys -l 'export PAGER='
    keys Enter
    run_there open "$site/short"
    screen_says 'Short enough.'
    quits
    keys -l 'unset PAGER'
    keys Enter

    check "reading: a prompt is answered before the pager starts"
    run_there open "$scripted_tls/ask"
    screen_says 'Your name'
    keys 'Ada' Enter
    on_screen 'answer Ada'
    quits

    check "reading: a secret is not shown while it is typed"
    run_there open "$scripted_tls/secret"
    screen_says 'Your password'
    keys 'hush' Enter
    on_screen 'answer hush'
    must test "$(grep -c hush "$out")" -eq 1
    quits

    check "reading: Ctrl-C before the page is there"
    run_there open "$scripted_tls/trickle"
    screen_says '7 B received'
    keys C-c
    # The shell gives up the rest of its line when a program dies of SIGINT.
    keys -l 'echo status=$?'
    keys Enter
    on_screen 'status=130'

    check "reading: what is no text is refused"
    run_there open "$scripted_tls/binary"
    screen_says 's save it, x open it with xdg-open, q quit:'
    keys q
    on_screen 'status=23'
    run_there open --no-input "$scripted_tls/binary"
    on_screen 'status=23'
    screen_says 'hint: save it'

    check "reading: get lays a page out too"
    run_there get "$site/short"
    on_screen '[1] A link'
    on_screen 'status=0'

    check "reading: links are columns of the terminal's width"
    run_there links "$site/"
    on_screen 'status=0'
    screen_says 'The next page'
    must test "$(awk 'length > 64' "$out" | wc -l)" -eq 0
    finish_check
    screen kill-server
}

if section tmux less && [ -n "${scripted_tls:-}" ]; then reading_checks; fi
