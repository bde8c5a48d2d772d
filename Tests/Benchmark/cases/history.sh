# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# What questions about a repository cost in bytes received, beside what git needs for them: a clone
# without the files that are not wanted. docs/git.md has the exchanges.

start_git_daemon
command -v strace >/dev/null || { echo "  strace is not installed" && return 0; }

# history.git: 20,000 commits, of which each changes one of 4,000 files in 80 directories; an
# annotated tag after every hundredth, the last of them 30 commits ago.
awk 'BEGIN {
    srand(1)
    for (i = 0; i < 20000; i++) {
        who = "Someone <some@one.test> " 1500000000 + 600 * i " +0000"
        print "commit refs/heads/main\nmark :" i + 1 "\nauthor " who "\ncommitter " who
        text = "change number " i "\n\n"
        for (j = 0; j < 12; j++) text = text sprintf("%x ", rand() * 2147483647)
        printf "data %d\n%s\n", length(text), text
        for (k = i; k < (i == 0 ? 4000 : i + 1); k++) {
            file = (k * 7919) % 4000
            text = ""
            for (j = 0; j < 40; j++)
                text = text sprintf("%d %x\n", j, j == i % 40 ? rand() * 2147483647 : file * j)
            printf "M 644 inline d%d/e%d/f%d.txt\ndata %d\n%s\n", file % 8, file % 80, file,
                length(text), text
        }
        if (i % 100 == 69 && i < 19990) {
            printf "tag v%d\nfrom :%d\ntagger %s\ndata 1\nv\n", (i + 31) / 100, i + 1, who
        }
    }
}' | { git init -q --bare "$git_root/history.git" && git -C "$git_root/history.git" fast-import --quiet; }
git -C "$git_root/history.git" config uploadpack.allowFilter true
git -C "$git_root/history.git" config uploadpack.allowAnySHA1InWant true
git -C "$git_root/history.git" repack -adfq --depth=50 --window=10
git -C "$git_root/history.git" symbolic-ref HEAD refs/heads/main
history_url=$git_url/history.git

# What a command's sockets read, and those of its children.
received() {
    strace -f -qq -e trace=read,recvfrom,readv -e status=successful -yy -o "$scratch/trace" \
        "$@" >/dev/null 2>&1
    awk '/TCP/ { sum += $NF } END { print sum + 0 }' "$scratch/trace"
}

# by_clone NAME OPTIONS COMMAND: a script that clones with these options, and then runs a command
# in the clone, if there is one.
by_clone() {
    printf '#!/bin/sh\nrm -rf %s/clone\ngit clone -q %s %s %s/clone%s\n' "$scratch" "$2" \
        "$history_url" "$scratch" "${3:+ && cd $scratch/clone && $3}" >"$scratch/$1"
    chmod +x "$scratch/$1"
}

# bytes QUESTION BAR CLONE WORD…: what smallweb receives, and what the script CLONE does; at most BAR
# of that.
bytes() {
    local question=$1 bar=$2 clone=$3 ours theirs
    ours=$(received "$smallweb" "${@:4}")
    theirs=$(received "$scratch/$clone")
    echo "  $question: smallweb $ours, git $theirs bytes received"
    figure "$question: received" smallweb "$ours" B
    figure "$question: received" git "$theirs" B
    bar "$question" "$(jq -n "$ours / $theirs")" "$bar"
}

by_clone sparse '--depth 1 --filter=blob:none --sparse' 'git sparse-checkout set d3/e3'
by_clone shallow '--depth 1 --bare'
by_clone commits '--bare --filter=tree:0'
by_clone twenty '--bare --filter=tree:0 --depth 20'
by_clone trees '--bare --filter=blob:none'
bytes 'a directory' 0.3 sparse get --tar "$history_url//d3/e3"
bytes 'all files' 1.05 shallow get --tar "$history_url"
bytes 'log -n 20' 1.05 twenty log -n 20 "$history_url"
bytes 'log v190..v195' 0.05 commits log "$history_url" v190..v195
bytes 'describe' 0.05 commits describe "$history_url"
bytes 'log v190..v195 of a path' 0.1 trees log "$history_url" v190..v195 -- d3/e3
bytes 'names that differ, v190..v195' 0.3 trees diff "$history_url" v190..v195
bytes 'dates of 200 tags' 0.1 commits refs --dates --tags "$history_url"

# A tar of a gigabyte, out of a pack of 256 MiB: its memory, and when its last byte is there.
git init -q --bare "$git_root/gigabyte.git"
{
    for number in {1..4}; do
        printf 'blob\nmark :%d\ndata 67108864\n' "$number"
        head -c 67108864 /dev/urandom
        echo
    done
    printf 'commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 1\na\n'
    for number in {0..15}; do printf 'M 644 :%d copy-%d\n' $((number % 4 + 1)) "$number"; done
} | git -C "$git_root/gigabyte.git" -c pack.compression=1 -c core.bigFileThreshold=1m \
    fast-import --quiet
printf '#!/bin/sh\nrm -rf %s/clone\ngit clone -q --bare --depth 1 %s %s/clone && %s\n' "$scratch" \
    "$git_url/gigabyte.git" "$scratch" "git -C $scratch/clone archive --format=tar HEAD" \
    >"$scratch/archive-of-clone"
chmod +x "$scratch/archive-of-clone"
git -C "$git_root/gigabyte.git" symbolic-ref HEAD refs/heads/main
compare "a tar of 1 GiB over git://" 3 \
    smallweb "$smallweb" get --tar "$git_url/gigabyte.git" \
    -- git "$scratch/archive-of-clone"
bar "its memory" "$(jq -n "$(measured .peak_kib smallweb) / 1024")" 64 MiB
bar "its last byte, to that of a clone and git archive" "$(measured .ratio git)" 1.3
