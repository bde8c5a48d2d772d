#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the files of bin and share, which are next to this script, or removes them again.
# usage: ./install.sh [--uninstall] [PREFIX]
# PREFIX is /usr/local for root, and ~/.local for others.
set -eu

usage() {
    echo 'usage: ./install.sh [--uninstall] [PREFIX]' >&2
    exit 2
}

action=install
if [ "${1:-}" = --uninstall ]; then
    action=uninstall
    shift
fi
case ${1:-} in -*) usage ;; esac
[ $# -le 1 ] || usage
if [ -n "${1:-}" ]; then
    prefix=$1
elif [ "$(id -u)" -eq 0 ]; then
    prefix=/usr/local
else
    prefix=${HOME:?HOME is not set; name a PREFIX}/.local
fi
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
cd "$(dirname "$0")"

if [ "$action" = uninstall ]; then
    find bin share -type f | while IFS= read -r file; do rm -f "$prefix/$file"; done
    for directory in "$prefix/share/smallweb" "$prefix/share/doc/smallweb"; do
        [ ! -d "$directory" ] || find "$directory" -depth -type d -empty -delete
    done
    exit
fi

if ! bin/smallweb --version >/dev/null; then
    echo 'install.sh: smallweb cannot run on this machine; nothing has been installed' >&2
    exit 1
fi
find bin share -type f | while IFS= read -r file; do
    mode=644
    if [ -x "$file" ]; then mode=755; fi
    install -D -m "$mode" "$file" "$prefix/$file" || exit 1
done
echo "Installed below $prefix"
case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) echo "$prefix/bin is not in PATH; add it, or run $prefix/bin/smallweb" ;;
esac
