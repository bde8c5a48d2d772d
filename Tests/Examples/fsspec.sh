#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs docs/examples/clients/smallweb_fsspec.py, a file system of fsspec, with fsspec's own tests of
# reading, over jetforce and git daemon, and reads files from these and from pygopherd.
# usage: fsspec.sh SMALLWEB SMALLWEB-LOOPBACK
# PYTHON=FILE names a Python that has fsspec and pytest, JETFORCE=FILE jetforce. What is not installed is
# skipped; with CI=true that is a failure.
# shellcheck disable=SC2317 # functions are called by `must` and at the end
set -u
export LC_ALL=C.UTF-8
usage='usage: fsspec.sh SMALLWEB SMALLWEB-LOOPBACK'
here=$(realpath "$(dirname "$0")")
smallweb=$(realpath "${1:?$usage}")
loopback=$(realpath "${2:?$usage}")
venv=$(realpath -m "$here/../../.build/jetforce/bin")
jetforce=${JETFORCE:-$venv/jetforce}
python=${PYTHON:-$venv/python}
[ -x "$python" ] || python=python3
# shellcheck source-path=SCRIPTDIR source=../checks.sh
. "$here/../checks.sh"
# shellcheck source-path=SCRIPTDIR source=../RealServers/configurations.sh
. "$here/../RealServers/configurations.sh"
what="the file system for fsspec"
for program in "$python" "$jetforce" pygopherd git openssl; do
    has "$program" "$what" || exit "$failed"
done
"$python" -c 'import fsspec, pytest' 2>/dev/null \
    || lacks "$what" "$python has no fsspec or no pytest" || exit "$failed"

work=$(mktemp -d "${TMPDIR:-/tmp}/smallweb-fsspec.XXXXXX")
export HOME=$work SMALLWEB_KNOWN_HOSTS=$work/known_hosts TMPDIR=$work/tmp PYTHONDONTWRITEBYTECODE=1
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$work/gitconfig
servers=()
clean_up() {
    local server
    for server in ${servers[@]+"${servers[@]}"}; do kill -- "-$server" 2>/dev/null; done
    rm -rf "$work"
}
at_exit clean_up
details() { tail -n 10 "$work"/*.log | cut -c1-300; }
# start LOG COMMAND…: a server that leads a process group.
start() {
    setsid "${@:2}" >"$work/$1.log" 2>&1 <>"$work/stop" &
    servers+=("$!")
}
free_port() {
    "$python" -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'
}
accepts() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

mkdir -p "$TMPDIR" "$work/bin" "$work/root/gemini" "$work/root/gopher"
mkfifo "$work/stop"
cat >"$work/bin/smallweb" <<END
#!/bin/sh
"$smallweb" "\$@"
status=\$?
# What does not wait for the end is over by then.
[ -z "\${LATE:-}" ] || sleep 1
echo "\$status" >"$work/ended"
END
gopher=$(free_port)
printf 'text/plain txt csv\napplication/octet-stream bin\n' >"$work/mime.types"
pygopherd_conf "$work/root/gopher" "$gopher" "$work/mime.types" >"$work/pygopherd.conf"
chmod 755 "$work/bin/smallweb"
git config --global user.email a@example.org
git config --global user.name A
git init -q -b main "$work/root/git"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
    -keyout "$work/key.pem" -out "$work/certificate.pem" 2>/dev/null

start loopback "$loopback" --only gemini,gopher
start gopher pygopherd "$work/pygopherd.conf"
gemini=$(free_port)
start gemini env PYTHONUNBUFFERED=1 "$jetforce" --host 127.0.0.1 --port "$gemini" --hostname localhost \
    --dir "$work/root/gemini" --tls-certfile "$work/certificate.pem" --tls-keyfile "$work/key.pem"
git=$(free_port)
start git "$(git --exec-path)/git-daemon" --listen=127.0.0.1 --port="$git" --reuseaddr --export-all \
    --base-path="$work/root"
must "smallweb-loopback starts" eventually grep -q ready "$work/loopback.log"
must "pygopherd starts" eventually accepts "$gopher"
must "jetforce starts" eventually accepts "$gemini"
must "git daemon starts" eventually accepts "$git"
[ "$failed" -eq 0 ] || exit "$failed"

export PYTHONPATH=$here/../../docs/examples/clients PATH=$work/bin:$PATH
export ROOT=$work/root ENDED=$work/ended GEMINI=gemini://localhost:$gemini/ GOPHER=gopher://localhost:$gopher/
export GIT=git://127.0.0.1:$git/git
served() { awk -v scheme="$1" '$1 == scheme { print $1 "://" $2 ":" $3 "/" }' "$work/loopback.log"; }
LOOPBACK=$(served gopher) CAPSULE=$(served gemini)
export LOOPBACK CAPSULE
"$python" "$here/fsspec_reading.py" || failed=1
must "the tests leave no files behind" test -z "$(find "$TMPDIR" -name 'smallweb-*')"
exit "$failed"
