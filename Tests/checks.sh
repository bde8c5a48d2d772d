# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034 # variables are used by what reads this
# Lines of what was checked, as Tests/parts.sh counts them, for scripts to read with `.`.

failed=0

# smallweb refuses programs that others can change.
umask 022

# What helps to understand a failure, if a script has more to say.
details() { :; }

# at_exit COMMAND: runs it when this shell ends, but not in its children: until it executes its program,
# a child is a shell with the same traps, and a signal ends it by them.
at_exit() {
    # shellcheck disable=SC2064 # the command is known now
    trap "if [ \$BASHPID -eq $$ ]; then $1; fi" EXIT
}

passes() { echo "ok - $*"; }
fails() {
    echo "not ok - $*"
    details | sed 's/^/    /'
    failed=1
}

# eventually COMMAND…: asks until it succeeds, for two minutes at most, and then says what did not.
eventually() {
    local end=$((SECONDS + 120))
    until "$@" >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "waited 120 s for this: $*" >&2
            return 1
        fi
        sleep 0.02
    done
}

# must NAME COMMAND…: the check NAME holds if the command succeeds.
must() {
    if "${@:2}"; then passes "$1"; else fails "$1"; fi
}
must_not() {
    if "${@:2}"; then fails "$1"; else passes "$1"; fi
}

# same NAME WANTED SEEN: two texts are the same.
same() {
    if [ "$2" = "$3" ]; then passes "$1"; else
        fails "$1"
        printf '    wanted: %s\n    seen:   %s\n' "$2" "$3" | cut -c1-400
    fi
}

# has PROGRAM WHAT: whether the program is there; if not, WHAT is skipped, but not in CI.
has() {
    command -v "$1" >/dev/null && return
    lacks "$2" "$1 is not installed"
}

# lacks WHAT REASON: WHAT is skipped, but not in CI.
lacks() {
    if [ "${CI:-}" = true ]; then fails "$1: $2"; else echo "skipped - $1: $2"; fi
    return 1
}

# step NAME COMMAND…: the check NAME holds if the command succeeds, and says how long that took. If not,
# its output is shown, and the script ends. It is run in the background, since a condition would take its
# `set -e` away.
step() {
    local start=$SECONDS log
    log=$(mktemp)
    "${@:2}" >"$log" 2>&1 &
    if ! wait $!; then
        cat "$log"
        rm -f "$log"
        fails "$1"
        exit 1
    fi
    rm -f "$log"
    passes "$1 ($((SECONDS - start)) s)"
}
