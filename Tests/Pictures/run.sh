#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes the pictures of docs/pictures, from the release binary in a terminal that tmux plays; with
# --check into another directory, to see whether they still show what smallweb says.
# usage: run.sh [--check] SMALLWEB
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(realpath "$here/../..")
pictures=$root/docs/pictures
is_check=false
if [ "${1:-}" = --check ]; then
    is_check=true
    shift
fi
smallweb=$(realpath "${1:?usage: run.sh [--check] SMALLWEB}")

# missing WHAT: without it there are no pictures; a check is skipped, but not in CI.
missing() {
    if [ "$is_check" = true ] && [ "${CI:-}" != true ]; then
        echo "skipped - the pictures show what smallweb says: $1"
        exit 0
    fi
    echo "cannot make the pictures: $1" >&2
    exit 1
}
for program in python3 tmux zsh less openssl ip unshare; do
    command -v "$program" >/dev/null || missing "$program is not installed"
done
own=(unshare --map-root-user --net --mount --pid --fork --kill-child)
"${own[@]}" true 2>/dev/null || missing "this machine gives no namespaces"

make_pictures() {
    "${own[@]}" python3 "$here/pictures.py" "$smallweb" "$root/completions/_smallweb" "$1"
}
if [ "$is_check" = false ]; then
    make_pictures "$pictures"
    exit
fi
made=$(mktemp -d "${TMPDIR:-/tmp}/smallweb-pictures.XXXXXX")
trap 'rm -rf "$made"' EXIT
if command -v mandoc >/dev/null && command -v cmark-gfm >/dev/null; then
    python3 "$root/docs/packaging/web.py" "$made/web" || exit
    for picture in "$pictures"/*.svg; do
        name=docs/pictures/${picture##*/}
        if ! grep -qF "\"$name\"" "$root/README.md" || ! grep -rqF "\"../$name\"" "$made/web/man"; then
            echo "not ok - README.md and the manual on the web show $name"
            exit 1
        fi
    done
    echo "ok - README.md and the manual on the web show each picture"
fi
if make_pictures "$made" && python3 "$here/compare.py" "$pictures" "$made"; then
    echo "ok - the pictures show what smallweb says"
else
    echo "not ok - the pictures show what smallweb says"
    exit 1
fi
