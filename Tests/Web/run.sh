#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes the web site in a directory of its own: it has no dead link, and those that are broken here
# are found.
# usage: run.sh
set -u
packaging=$(realpath "$(dirname "$0")/../../docs/packaging")

for program in python3 mandoc cmark-gfm; do
    if ! command -v "$program" >/dev/null; then
        echo "skipped - the web site: $program is not installed"
        [ "${CI:-}" != true ]
        exit
    fi
done
work=$(mktemp -d "${TMPDIR:-/tmp}/smallweb-web.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0

# The site without a mistake; web.py itself looks for dead links.
python3 "$packaging/web.py" "$work/site" || exit

# finds WHAT SENTENCE COMMAND…: after COMMAND in a copy of the site, links.py prints SENTENCE and
# nothing else, and fails.
finds() {
    local what=$1 sentence=$2 said
    shift 2
    rm -rf "$work/copy"
    cp -r "$work/site" "$work/copy"
    (cd "$work/copy" && "$@")
    if said=$(python3 "$packaging/links.py" "$work/copy") || [ "$said" != "not ok - $sentence" ]; then
        echo "not ok - $what is found"
        echo "    expected: not ok - $sentence"
        echo "    seen:     $said"
        failed=1
    else
        echo "ok - $what is found"
    fi
}
# shellcheck disable=SC2317 # finds calls it
append() { echo "$1" >>index.html; }

finds "a link to a page that does not exist" "index.html: docs/none.html does not exist" \
    append '<a href="docs/none.html">none</a>'
finds "a link to an anchor that does not exist" \
    "index.html: docs/json.html#none: there is no such anchor" \
    append '<a href="docs/json.html#none">none</a>'
finds "a link to a directory" "index.html: docs/ does not exist" append '<a href="docs/">docs</a>'
finds "a picture that does not exist" "index.html: none.svg does not exist" \
    append '<picture><source srcset="none.svg"></picture>'
finds "a link out of the site" "index.html: ../copy.html leads out of the site" \
    append '<a href="../copy.html">copy</a>'
finds "an anchor that exists twice" "index.html: two anchors are called #install" \
    append '<p id="install"></p>'
finds "a page without a link to it" "docs/alone.html: no page links to it" touch docs/alone.html
exit "$failed"
