# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT

start_git_daemon

# What a command's sockets read, by strace.
received() {
    strace -f -qq -e trace=read,recvfrom -e status=successful -yy -o "$scratch/trace" \
        "$@" >/dev/null
    awk '/TCP/ { sum += $NF } END { print sum + 0 }' "$scratch/trace"
}

cat >"$scratch/clone" <<END
#!/bin/sh
rm -rf "$scratch/clone.git"
git clone -q --depth 1 --filter=blob:none --no-checkout "$git_url/files.git" "$scratch/clone.git" \
    && git -C "$scratch/clone.git" show HEAD:d1/e1/f21.txt
END
chmod +x "$scratch/clone"
title="one file of 10,000 over git://"
compare "$title" 10 smallweb "$smallweb" get "$git_url/files.git//d1/e1/f21.txt" \
    -- git "$scratch/clone"
command -v strace >/dev/null || return 0
ours=$(received "$smallweb" get "$git_url/files.git//d1/e1/f21.txt")
theirs=$(received "$scratch/clone")
echo "  bytes received: smallweb $ours, git $theirs"
figure "$title: received" smallweb "$ours" B
figure "$title: received" git "$theirs" B
