# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# The repositories that git.sh serves, below $repositories.

# bare NAME [OPTION…]: an empty repository that may be served, and asked for single objects.
bare() {
    git init -q --bare -b main "${@:2}" "$repositories/$1" || return
    : >"$repositories/$1/git-daemon-export-ok"
    git -C "$repositories/$1" config uploadpack.allowFilter true
}

# copied NAME: another normal.git.
copied() { cp -r "$repositories/normal.git" "$repositories/$1"; }

# commit BRANCH MESSAGE: the beginning of a commit, for git fast-import.
commit() {
    printf 'commit refs/heads/%s\ncommitter Someone <some@one.test> 1700000000 +0100\n' "$1"
    printf 'data <<END\n%s\nEND\n' "$2"
}

# shellcheck disable=SC2016 # nothing is to be expanded
# The names are in the form of git fast-import, which reads a quoted one as C would.
odd_names=(
    'a b/c d.txt' 'grün ☃/ünï.txt' 'what?.txt' '100%.txt' '%41.txt' 'hash#tag.txt'
    '"\"quoted\" it'"'"'s.txt"' '"new\nline.txt"' 'back\slash.txt' '"tab\there.txt"'
    '"control\001\033[31m\177.txt"' '"caf\351.txt"' '-dash' '+plus+.txt' 'a;b&c=d,e@f:g!h$i*(j).txt'
    '[x]{y}|^`~<z>.txt' '...' '..two' '" space"' '"space "' 'query?ref=main' 'deep/er/still/file'
)

# Four commits on main, another on each of several branches. $1 is the submodule's commit, if any.
normal_stream() {
    local odd
    commit main first
    printf 'M 644 inline README\ndata <<END\nthe first version\nEND\n'
    commit main second
    printf 'M 644 inline README\ndata <<END\nthe second version\nEND\n'
    commit main third
    printf 'M 644 inline README\ndata <<END\nthe third version, where no branch is\nEND\n'
    commit main fourth
    printf 'M 644 inline README\ndata <<END\nGrüße, the fourth version\nEND\n'
    printf 'M 644 inline empty\ndata 0\n\nM 644 inline unended\ndata 11\nno line end\n'
    printf 'M 755 inline run.sh\ndata <<END\n#!/bin/sh\nEND\n'
    printf 'M 120000 inline link\ndata 8\na b/c d.\n'
    printf 'M 120000 inline deep/out\ndata 11\n/etc/passwd\n'
    printf 'M 644 inline binary\ndata 6\n\000\001\r\n\377\000\n'
    if [ -n "${1:-}" ]; then printf 'M 160000 %s deep/module\n' "$1"; fi
    for odd in "${odd_names[@]}"; do
        printf 'M 644 inline %s\ndata <<END\nthis is %s\nEND\n' "$odd" "$odd"
    done
    for odd in feature/one zebra twin heads/main ünï/☃ $'caf\351'; do
        commit "$odd" "on $odd"
        printf 'from refs/heads/main\nM 644 inline README\ndata <<END\nof %s\nEND\n\n' "$odd"
    done
    commit void nothing
}

# normal REPOSITORY [SUBMODULE]
normal() {
    local at=$repositories/$1 tag
    normal_stream "${@:2}" | git -C "$at" fast-import --quiet || return
    while read -ra tag; do
        git -C "$at" tag "${tag[@]}" 2>/dev/null || return
    done <<'END'
-m message v1.0 main~3
-m message inner main~1
-m message v1.1 main
-m message nested v1.0
-m message nested-again nested
-m message tree main^{tree}
-m message blob main:README
twin main~3
light main~2
light-tree main^{tree}
light-blob main:README
END
    git -C "$at" update-ref refs/remotes/origin/away main~2
    git -C "$at" symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/away
    git -C "$at" update-ref refs/pull/1/head main~3
    git -C "$at" update-ref refs/notes/commits main~2
    git -C "$at" symbolic-ref refs/heads/alias refs/heads/feature/one
    git -C "$at" symbolic-ref refs/heads/dangling refs/heads/nowhere
    git -C "$at" pack-refs
    git -C "$at" update-ref refs/heads/loose main~2
}

# Two files of 64 MiB, one that cannot be compressed and one that is all zeros.
big_stream() {
    commit main big
    printf 'M 644 inline random\ndata 67108864\n'
    random_bytes 67108864
    printf '\nM 644 inline zeros\ndata 67108864\n'
    head -c 67108864 /dev/zero
    printf '\nM 644 inline small\ndata <<END\nsmall\nEND\n'
}

# Versions of one file, which are also files of the last version: its pack is a chain of deltas.
delta_stream() {
    awk 'BEGIN {
        for (version = 1; version <= 300; version++) {
            print "commit refs/heads/main"
            print "committer Someone <some@one.test> " 1700000000 + version " +0000"
            print "data 1\nv"
            line[version % 97] = "this line is of version " version
            text = ""
            for (number = 0; number < 97; number++) text = text number ": " line[number] "\n"
            printf "M 644 inline file\ndata %d\n%s\n", length(text), text
            printf "M 644 inline versions/%d\ndata %d\n%s\n", version, length(text), text
        }
    }'
}

# 3,000 files below 150 directories, and 60 versions of some of them. On the branch "wide", one
# directory of 20,000 names.
real_stream() {
    awk 'BEGIN {
        for (version = 0; version < 60; version++) {
            print "commit refs/heads/main"
            print "committer Someone <some@one.test> " 1700000000 + version " +0000"
            print "data 1\nv"
            for (number = 0; number < 3000; number++) {
                if (version > 0 && (number * 7 + version) % 60 > 5) continue
                text = ""
                for (line = 0; line < number % 60; line++)
                    text = text "line " line " of " number ", " version * (line % 5) "\n"
                printf "M 644 inline part-%d/area-%d/file-%d.txt\ndata %d\n%s\n",
                    number % 10, number % 150, number, length(text), text
            }
        }
        print "blob\nmark :1\ndata 5\nwide\n"
        print "commit refs/heads/wide\ncommitter Someone <some@one.test> 1700000000 +0000"
        print "data 1\nw"
        for (number = 0; number < 20000; number++) print "M 644 :1 wide/file-" number
    }'
}

make_repositories() {
    local at id
    export GIT_AUTHOR_NAME=Someone GIT_AUTHOR_EMAIL=some@one.test GIT_CONFIG_NOSYSTEM=1
    export GIT_COMMITTER_NAME=Someone GIT_COMMITTER_EMAIL=some@one.test
    mkdir -p "$repositories/nothing"
    bare normal.git && normal normal.git 1234567890123456789012345678901234567890 || return
    bare sha256.git --object-format=sha256 && normal sha256.git || return
    bare empty.git
    copied unborn.git
    git -C "$repositories/unborn.git" symbolic-ref HEAD refs/heads/nowhere
    copied detached.git
    git -C "$repositories/detached.git" update-ref --no-deref HEAD main~1
    copied unfiltered.git
    git -C "$repositories/unfiltered.git" config uploadpack.allowFilter false
    git clone -q --bare --depth 2 "file://$repositories/normal.git" "$repositories/shallow.git" \
        || return
    : >"$repositories/shallow.git/git-daemon-export-ok"
    git -C "$repositories/normal.git" update-server-info
    copied secret.git
    rm "$repositories/secret.git/git-daemon-export-ok"
    copied "$odd_repository"
    # A large file is packed as it is, not compared to others.
    at=$repositories/big.git
    bare big.git && big_stream | git -C "$at" -c pack.compression=1 -c core.bigFileThreshold=1m \
        fast-import --quiet || return

    at=$repositories/deltas.git
    bare deltas.git && delta_stream | git -C "$at" fast-import --quiet --depth=250 || return
    git -C "$at" config uploadpack.allowFilter false
    git -C "$at" config pack.depth 250

    at=$repositories/real.git
    bare real.git && real_stream | git -C "$at" fast-import --quiet || return

    copied many.git
    at=$repositories/many.git
    id=$(git -C "$at" rev-parse main)
    rm -r "$at/refs" && mkdir -p "$at/refs/heads" "$at/refs/tags"
    awk -v id="$id" 'BEGIN {
        print "# pack-refs with: peeled fully-peeled sorted "
        for (number = 0; number < 50000; number++) printf "%s refs/heads/branch-%05d\n", id, number
        print id " refs/heads/main"
        for (number = 0; number < 50000; number++) printf "%s refs/tags/tag-%05d\n", id, number
    }' >"$at/packed-refs"
}
