# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Repositories with the traps of archives and of history. What git makes of them in a full clone is
# what smallweb must make of them without one.

# in_repository NAME COMMAND…: git in a repository that is made.
in_repository() { git -C "$repositories/$1" "${@:2}"; }

# traps.git: files of every mode, name, attribute and encoding.
make_traps() {
    local at=$work/traps from=$repositories/$1 long
    rm -rf "$at"
    git init -q -b main --object-format="$2" "$at"
    long=$(printf 'x%.0s' {1..120})
    (
        cd "$at" || exit
        mkdir -p docs/deep/er "with space" empty-after "$long/$long" src ident
        printf 'hello\n' >README
        printf 'deep\n' >docs/deep/er/file
        printf '#!/bin/sh\n' >run && chmod 755 run
        : >empty
        ln -s docs/deep link
        ln -s "$long/$long/$long" long-link
        printf 'long\n' >"$long/$long/name"
        printf 'edge\n' >"$(printf 'n%.0s' {1..100})"
        printf 'edge\n' >"$(printf 'n%.0s' {1..101})"
        printf 'a\n' >"src/$(printf 'm%.0s' {1..98})"
        printf 'quoted\n' >'we"ird\name'
        printf 'line\n' >$'new\nline'
        printf 'latin\n' >$'caf\xe9'
        printf 'spaced\n' >"with space/a b"
        printf 'gone\n' >empty-after/gone
        printf 'secret\n' >docs/secret.key
        printf 'one\ntwo\r\nthree\n' >mixed.crlf
        printf 'one\ntwo\n' >plain.crlf
        printf 'one\ntwo\n' >auto.txt
        printf 'one\0two\n' >auto.bin
        printf 'one\r\ntwo\n' >auto.mixed
        printf 'Gr\xc3\xbc\xc3\x9fe \xe2\x98\x83\n' >wide.u16
        printf 'Gr\xc3\xbc\xc3\x9fe\n' >latin.l1
        printf '\xe2\x98\x83\n' >snow.l1
        printf '$Id$ $Id: old $ $Id: not ours 1.2 $ $Id:\n$ $Id\n' >ident/a.id
        printf '%s\n' '$Format:%H %T %P$' '$Format:%an <%ae> %ad|%aD|%ai|%aI|%at|%as$' \
            '$Format:%cn <%ce> %cd|%cD|%ci|%cI|%ct|%cs|%cl%n%%%x41$' \
            '$Format:%s|%f$' '$Format:%b$' '$Format:%B$' '$Format:%e$' '$Format:' '$Format:$' >subst
        printf '%s\n' '$Format:%H$' >docs/subst-not
        printf 'big\n%.0s' {1..40000} >big.txt
        printf 'a\n' >macro.one
        printf 'b\n' >docs/neg.key
        cat >.gitattributes <<'END'
# a comment
[attr]hidden export-ignore
*.crlf text eol=crlf
auto.* text=auto eol=crlf
*.u16 working-tree-encoding=UTF-16LE-BOM text
*.l1 working-tree-encoding=ISO-8859-1
*.id ident
subst export-subst
empty-after/gone export-ignore
docs/*.key export-ignore
macro.* hidden
"quoted pattern" export-ignore
!negative export-ignore
broken -bad=1 =x export-ignore
END
        printf 'neg.key !export-ignore\nsub/** export-ignore\n' >docs/.gitattributes
        mkdir -p docs/sub/x && printf 'x\n' >docs/sub/x/y
        mkdir -p dironly/inner && printf 'x\n' >dironly/inner/file && printf 'x\n' >dir-file
        printf 'dironly/ export-ignore\n**/er export-ignore\n' >>.gitattributes
        git -c core.autocrlf=false add -A 2>/dev/null
        git update-index --add --cacheinfo "160000,$(git hash-object -t tree /dev/null),module"
        GIT_AUTHOR_DATE='2024-03-04T05:06:07 -0330' GIT_COMMITTER_DATE='1700000000 +0100' \
            git -c user.name='Jos\xc3\xa9 Some One' commit -q \
            -F <(printf 'A subject\nin two lines..\n\n\nbody é\n\n  more\n')
        GIT_COMMITTER_DATE='1700000100 -0800' git tag -a -m 'a tag' v1
        git tag -a -m 'of a tag' v1-again v1
    ) 2>/dev/null || return
    git clone -q --bare "$at" "$from" 2>/dev/null || return
    git -C "$from" config uploadpack.allowFilter true
    git -C "$from" config uploadpack.allowAnySHA1InWant true
    : >"$from/git-daemon-export-ok"
}

# stamp SECONDS [ZONE]: the clock of the next commits and tags.
stamp() { export GIT_AUTHOR_DATE="$1 ${2:-+0000}" GIT_COMMITTER_DATE="$1 ${2:-+0000}"; }

# history.git: merges of every shape, odd messages, tags of every kind.
make_history() {
    local at=$work/history from=$repositories/$1 number tree empty
    rm -rf "$at"
    git init -q -b main --object-format="$2" "$at"
    (
        cd "$at" || exit
        one() { # one NAME: a commit that changes a file
            echo "$1 $RANDOM" >"$1"
            git add -A
            git commit -q -m "${2:-change $1}" "${@:3}"
        }
        clock=1600000000
        tick() { clock=$((clock + ${1:-60})) && stamp "$clock" "${2:-+0000}"; }
        stamp 1000 -0500 && mkdir lib && one lib/first 'before 1970 in its zone'
        tick && one second $'subject\n\nbody\twith\ttabs\n\n\n  indented  \n\n' && git tag -a -m first v0.1
        tick 60 +0545 && one third $'two\nlines of subject\n\nand a body'
        tick && git commit -q --allow-empty -m 'an empty commit'
        tick && git commit -q --allow-empty --allow-empty-message -m ''
        git branch topic && git branch other && git branch criss
        tick && one main1 && git tag light
        git checkout -q topic && tick && one t1 && tick && one t2
        git checkout -q other && tick && one o1 && git tag -a -m 'on other' v0.2-other && tick && one o2
        git checkout -q criss && tick && one c1
        git checkout -q main && tick && git merge -q -m 'merge of three' topic other
        tick && git tag -a -m second v0.2
        git checkout -q criss && tick && git merge -q -m 'criss' main~1
        git checkout -q main && tick && one m2 && tick && git merge -q -m 'cross' criss~1
        git checkout -q criss && tick && git merge -q -m 'cross back' main
        git checkout -q main && tick && git merge -q -m 'and again' criss
        git checkout -q --orphan second-root && git rm -rfq . && tick && one root2
        git checkout -q main && tick && git merge -q --allow-unrelated-histories -m 'two roots' second-root
        tick -100000 && one back1 'the clock was set back' && tick -100 && one back2
        clock=$((clock + 200000)) && tick 60 -0730
        git -c i18n.commitEncoding=ISO-8859-1 commit -q --allow-empty \
            -F <(printf 'caf\xe9 \xfcber\n\nM\xfcnchen\n')
        tick && git commit -q --allow-empty -F <(printf 'not \xff UTF-8, and not said\n')
        tick && git commit -q --allow-empty --cleanup=verbatim \
            -m $'\n\n  \n  leading blanks\ntrailing   \n\n\n'
        git -c user.name='A  B' -c user.email='x@y>z' commit -q --allow-empty -m 'odd mail'
        mkdir -p n
        for number in $(seq 40); do tick && one "n/$((number % 5))" "number $number"; done
        git tag -a -m 'of a tag' nested v0.2 && git tag -a -m 'a tree' of-tree 'HEAD^{tree}'
        git tag -a -m 'a blob' of-blob HEAD:second && git tag light-tree 'HEAD^{tree}'
        tick && git tag -a -m 'younger' v1.0-young HEAD~20 && tick -5000 && git tag -a -m 'older' v1.0-old HEAD~20
        # Without an empty line, and with a NUL.
        tree=$(git rev-parse 'HEAD^{tree}')
        empty=$(printf 'tree %s\nparent %s\nauthor A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000' \
            "$tree" "$(git rev-parse HEAD)" | git hash-object -t commit -w --stdin --literally)
        empty=$(printf 'tree %s\nparent %s\nauthor A <a@b> 1700000001 +0000\ncommitter A <a@b> 1700000001 +0000\ngpgsig -----BEGIN SSH SIGNATURE-----\n AAAA\n -----END SSH SIGNATURE-----\nencoding UTF-8\n\nbefore\0behind\n' \
            "$tree" "$empty" | git hash-object -t commit -w --stdin --literally)
        git branch odd "$empty"
    ) >/dev/null 2>&1 || return
    unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE
    git clone -q --bare "$at" "$from" || return
    git -C "$from" config uploadpack.allowFilter true
    : >"$from/git-daemon-export-ok"
}

# archive_as_git URL REPOSITORY WORD…: the same bytes as git archive with these words in a clone.
archive_as_git() {
    check "git: archive ${1##*/}: ${*:3}, $(label "${1%%/"$2"*}")"
    git -C "$repositories/$2" archive --format=tar "${@:3}" >"$work/wanted" 2>"$work/git.err" \
        || problem "git archive: $(cat "$work/git.err")"
    sw get "$1"
    status_is 0
    out_is "$work/wanted"
}

git_archives() {
    local place repository url
    for place in "$git" "$old" "$web"; do
        for repository in traps.git traps256.git unfiltered-traps.git; do
            url=$place/$repository
            archive_as_git "$url?tar" "$repository" main
            archive_as_git "$url//docs?tar" "$repository" main docs
            archive_as_git "$url//docs/deep/er?tar&ref=v1" "$repository" v1 docs/deep/er
            archive_as_git "$url//README?tar&ref=v1-again" "$repository" v1-again README
            archive_as_git "$url//src?tar&prefix=a/b/" "$repository" --prefix=a/b/ main src
            archive_as_git "$url?tar&prefix=x-" "$repository" --prefix=x- main
            archive_as_git "$url//empty-after?tar" "$repository" main empty-after
            archive_as_git "$url//dironly?tar" "$repository" main dironly
            archive_as_git "$url//link?tar" "$repository" main link
            archive_as_git "$url//subst?tar" "$repository" main subst
        done
    done
    check "git: archive --strip"
    sw get --tar --strip 1 -o "$work/strip.tar" "$git/traps.git//docs"
    status_is 0
    tar tf "$work/strip.tar" >"$work/found"
    printf '%s\n' .gitattributes neg.key subst-not >"$work/wanted"
    must cmp "$work/found" "$work/wanted"
}

# logged URL REPOSITORY WORD… : WORD…: what git log says with the first words, and smallweb log with
# the second.
logged() {
    local url=$1 repository=$2 words=()
    shift 2
    while [ "$1" != : ]; do words+=("$1") && shift; done
    shift
    check "git: log ${words[*]}, $(label "${url%/*}") $repository"
    git -C "$repositories/$repository" log --no-abbrev --format=medium "${words[@]}" \
        >"$work/wanted" 2>"$work/git.err" || problem "git log: $(cat "$work/git.err")"
    sw log --format full "$url" "$@"
    status_is 0
    out_is "$work/wanted"
    # From 2.45 on git writes Z for UTC.
    git -C "$repositories/$repository" log --format='%H%x09%aI%x09%an%x09%s' "${words[@]}" \
        | sed -E 's/^([0-9a-f]+\t[^\t]*)Z\t/\1+00:00\t/' >"$work/wanted"
    sw log "$url" "$@"
    status_is 0
    out_is "$work/wanted"
}

# Of a server that has a part of the history alone.
git_shallow_logs() {
    local place options
    git clone -q --bare --depth 12 "file://$repositories/history.git" \
        "$repositories/shallow-history.git" || return
    git -C "$repositories/shallow-history.git" config uploadpack.allowFilter true
    : >"$repositories/shallow-history.git/git-daemon-export-ok"
    for place in "$git" "$old" "$web"; do
        logged "$place/shallow-history.git" shallow-history.git main : main
        check "git: log of a shallow server is not complete, $(label "$place")"
        sw log --json "$place/shallow-history.git"
        status_is 0
        out_says '"complete":null'
        logged "$place/shallow-history.git" shallow-history.git main -- n/3 : main -- n/3
        logged "$place/shallow-history.git" shallow-history.git -n 2 main -- n/1 : \
            -n 2 main -- n/1
        if [ "$place" = "$old" ]; then
            logged "$place/shallow-history.git" shallow-history.git --since=2020-09-14T12:00:00Z \
                main -- n/1 : --since 2020-09-14T12:00:00Z main -- n/1
            continue
        fi
        git_fails "a date and paths, where the server has no more, $(label "$place")" 22 \
            'the server lacks commits' log --since 2020-09-14T12:00:00Z \
            "$place/shallow-history.git" main -- n/1
    done
}

git_logs() {
    local place repository url id
    for place in "$git" "$old" "$web"; do
        for repository in history.git history256.git unfiltered-history.git; do
            url=$place/$repository
            id=$(in_repository "$repository" rev-parse topic)
            logged "$url" "$repository" main :
            logged "$url" "$repository" -n 20 main : -n 20
            logged "$url" "$repository" -n 1 criss : -n 1 criss
            logged "$url" "$repository" -n 3 odd : -n 3 odd
            logged "$url" "$repository" v0.1..v0.2 : v0.1..v0.2
            logged "$url" "$repository" v0.2..main : v0.2..main
            logged "$url" "$repository" light..main : light..
            logged "$url" "$repository" main..light : ..light
            logged "$url" "$repository" topic..other : topic..other
            logged "$url" "$repository" -n 5 v0.2-other..main : -n 5 v0.2-other..main
            logged "$url" "$repository" nested..v1.0-young : nested..v1.0-young
            logged "$url" "$repository" "$id..main" : "$id..main"
            logged "$url" "$repository" --since=2020-09-14T12:00:00Z main : \
                --since 2020-09-14T12:00:00Z
        done
    done
    for place in "$git" "$old" "$web"; do
        for repository in history.git history256.git unfiltered-history.git; do
            url=$place/$repository
            logged "$url" "$repository" main -- lib : main -- lib
            logged "$url" "$repository" main -- n/3 second : main -- n/3 second
            logged "$url" "$repository" -n 2 main -- n : -n 2 main -- n
            logged "$url" "$repository" main -- t1 : main -- t1
            logged "$url" "$repository" main -- o2 t2 main1 : main -- o2 t2 main1
            logged "$url" "$repository" criss -- c1 m2 : criss -- c1 m2
            logged "$url" "$repository" main -- root2 : main -- root2
            logged "$url" "$repository" v0.1..main -- t2 o1 : v0.1..main -- t2 o1
            logged "$url" "$repository" v0.2..main -- lib second t1 : v0.2..main -- lib second t1
            logged "$url" "$repository" topic..criss -- t1 c1 : topic..criss -- t1 c1
            logged "$url" "$repository" main -- nothing/here : main -- nothing/here
            logged "$url" "$repository" --since=2020-09-14T12:00:00Z main -- n/1 c1 : \
                --since 2020-09-14T12:00:00Z main -- n/1 c1
        done
    done
    logged "$git/history.git" history.git --since=2030-01-01T00:00:00Z main : --since 2030-01-01
    git_shallow_logs
}

# described URL REPOSITORY VERSION OPTION…: as git describe.
described() {
    check "git: describe ${*:3}, $(label "${1%/*}") $2"
    git -C "$repositories/$2" describe --abbrev=10 "${@:4}" "$3" >"$work/wanted" 2>"$work/git.err"
    case $? in
        0)
            sw describe "${@:4}" "$1" "$3"
            status_is 0
            out_is "$work/wanted"
            ;;
        *)
            sw describe "${@:4}" "$1" "$3"
            status_is 22
            ;;
    esac
}

git_describes() {
    local place repository version
    for place in "$git" "$old" "$web"; do
        for repository in history.git history256.git unfiltered-history.git; do
            for version in main v0.2 light criss other topic odd second-root v1.0-old; do
                described "$place/$repository" "$repository" "$version"
                described "$place/$repository" "$repository" "$version" --tags
            done
            described "$place/$repository" "$repository" main --match 'v0*'
            described "$place/$repository" "$repository" main --long
            described "$place/$repository" "$repository" v1.0-old --long
            described "$place/$repository" "$repository" main --exact-match
        done
    done
    for version in $(in_repository history.git rev-list main | sed -n '1~9p'); do
        described "$git/history.git" history.git "$version"
    done
}

# different URL REPOSITORY RANGE PATH…: what git diff lists, by names and raw.
different() {
    local paths=()
    [ "$#" -le 3 ] || paths=(-- "${@:4}")
    check "git: diff ${*:3}, $(label "${1%/*}") $2"
    git -C "$repositories/$2" -c core.quotePath=false diff --no-renames --name-status "$3" \
        ${paths[@]+"${paths[@]}"} >"$work/wanted" 2>"$work/git.err"
    sw diff "$1" "$3" ${paths[@]+"${paths[@]}"}
    status_is 0
    out_is "$work/wanted"
    git -C "$repositories/$2" diff --no-renames --raw --no-abbrev -z "$3" \
        ${paths[@]+"${paths[@]}"} >"$work/wanted" 2>"$work/git.err"
    sw diff --raw -z "$1" "$3" ${paths[@]+"${paths[@]}"}
    status_is 0
    out_is "$work/wanted"
}

# patched URL REPOSITORY A..B: git apply makes B of A with it.
patched() {
    local from=${3%..*} to=${3#*..} index=$work/git.index
    check "git: diff --patch $3, $(label "${1%/*}") $2"
    sw diff --patch "$1" "$3"
    status_is 0
    rm -f "$index"
    GIT_INDEX_FILE=$index in_repository "$2" read-tree "$from"
    GIT_INDEX_FILE=$index in_repository "$2" apply --cached --whitespace=nowarn --allow-empty "$out" \
        2>"$work/git.err" || problem "git apply: $(head -n 1 "$work/git.err")"
    [ "$(GIT_INDEX_FILE=$index in_repository "$2" write-tree)" \
        = "$(in_repository "$2" rev-parse "$to^{tree}")" ] || problem "the tree of $to"
    in_repository "$2" -c core.quotePath=false diff --no-renames --full-index "$3" \
        | grep -aE '^(diff|index|---|\+\+\+|new|old|deleted|Binary)' >"$work/wanted"
    grep -aE '^(diff|index|---|\+\+\+|new|old|deleted|Binary)' "$out" >"$work/found"
    must cmp "$work/found" "$work/wanted"
}

# types.git: traps.git, of which files have become something else.
make_types() {
    local at=$work/types
    rm -rf "$at"
    git clone -q "$repositories/traps.git" "$at" 2>/dev/null
    (
        cd "$at" || exit
        rm -r README docs link
        ln -s x README
        echo file >docs
        mkdir link
        echo 1 >link/a
        chmod +x auto.txt
        git rm -q --cached module
        git add -A
        git commit -q -m types
    ) 2>/dev/null || return
    git clone -q --bare "$at" "$repositories/types.git" 2>/dev/null
    git -C "$repositories/types.git" config uploadpack.allowFilter true
    : >"$repositories/types.git/git-daemon-export-ok"
}

git_differences() {
    local place
    make_types || return
    for place in "$git" "$old" "$web"; do
        different "$place/types.git" types.git v1..main
        different "$place/types.git" types.git main..v1
        different "$place/types.git" types.git v1..main docs link
        different "$place/history256.git" history256.git v0.1..main
        different "$place/history.git" history.git topic..other
        different "$place/history.git" history.git main..second-root
        different "$place/history.git" history.git main..main
        different "$place/history.git" history.git v0.1..main n lib
        patched "$place/types.git" types.git v1..main
        patched "$place/types.git" types.git main..v1
        patched "$place/history.git" history.git v0.1..main
        patched "$place/history256.git" history256.git topic..other
        patched "$place/history.git" history.git main..main
    done
}

# Versions as gitrevisions(7) names them.
git_ancestors() {
    local place merge
    merge=$(in_repository history.git rev-list --merges -n 1 main)
    for place in "$git" "$web"; do
        different "$place/history.git" history.git main^..main
        different "$place/history256.git" history256.git main~3..main~1
        patched "$place/history.git" history.git main^..main
        logged "$place/history.git" history.git "$merge~1..$merge^2" : "$merge~1..$merge^2"
        described "$place/unfiltered-history.git" unfiltered-history.git main~1
    done
    check "git: an ancestor, which a server before version 2 does not send"
    sw log "$old/history.git" main^
    status_is 22
    err_says 'hint: name a commit by its id'
}

# The bytes of tags, as git cat-file gives them.
git_objects() {
    local place tag
    for place in "$git" "$old" "$web"; do
        for tag in refs/tags/v0.1 nested of-tree; do
            check "git: the object $tag, $(label "$place")"
            in_repository history.git cat-file tag "$tag" >"$work/wanted"
            sw get "$place/history.git?object=$tag"
            status_is 0
            out_is "$work/wanted"
        done
    done
}

# The lines of docs/git.md that check signatures, as they stand there but for the URL.
git_signatures() {
    local at=$work/signatures form lines status=0
    section gpg gpgv ssh-keygen || return 0
    export GNUPGHOME=$work/gnupg
    mkdir -m 700 "$GNUPGHOME" "$at"
    cp -r "$repositories/history.git" "$repositories/signed.git"
    git -C "$repositories/signed.git" config uploadpack.allowFilter true
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$at/key"
    echo "a@example.org namespaces=\"git\" $(cat "$at/key.pub")" >"$at/allowed_signers"
    {
        gpg --batch --quick-generate-key --passphrase '' a@example.org default default never
        gpg --export a@example.org >"$at/signers.gpg"
        in_repository signed.git tag -s -u a@example.org -m 'signed' v1.0 main
    } 2>"$work/gpg.err" || { check 'git: a signed tag' && problem "$(cat "$work/gpg.err")"; }
    for form in PGP SSH; do
        if [ "$form" = SSH ]; then
            in_repository signed.git -c gpg.format=ssh tag -f -s -u "$at/key" -m 'signed' v1.0 main \
                >"$work/gpg.err" 2>&1
        fi
        lines=$(sed -n '/^## Objects/,/^## Feeds/s/^    //p' "$here/../../docs/git.md" \
            | sed "s|git+https://example.org/repo.git|$git/signed.git|; s|^smallweb|'$smallweb'|")
        # The first line is of both, then three are of gpg and two of ssh.
        if [ "$form" = PGP ]; then
            lines=$(sed -n 1,4p <<<"$lines")
        else
            lines=$(sed -n '1p; 5,$p' <<<"$lines")
        fi
        check "git: the lines that verify a tag, $form"
        (cd "$at" && bash -euc "$lines") >"$out" 2>"$err" || problem "they succeed"
        cat "$out" >>"$err"
        err_says Good
        check "git: and they fail for another tag, $form"
        (
            cd "$at" || exit
            lines=${lines#*$'\n'}
            sed -i 's/^tag v1.0$/tag v1.1/' tag
            bash -euc "$lines"
        ) >"$out" 2>"$err" && problem "they fail"
    done
    gpgconf --kill all
    unset GNUPGHOME
}

# The same questions to servers that share no code with git: from them everything comes whole.
git_other_history() {
    local place url id
    for place in "$dulwich" "$dulwich_web" "$jgit"; do
        [ "$place" != none ] || continue
        url=$place/traps.git
        archive_as_git "$url?tar" traps.git main
        archive_as_git "$url//docs/deep?tar&ref=v1" traps.git v1 docs/deep
        url=$place/history.git
        id=$(in_repository history.git rev-parse topic)
        logged "$url" history.git main : main
        logged "$url" history.git -n 20 main : -n 20
        logged "$url" history.git v0.1..v0.2 : v0.1..v0.2
        logged "$url" history.git topic..other : topic..other
        logged "$url" history.git "$id..main" : "$id..main"
        logged "$url" history.git main -- n/3 second : main -- n/3 second
        logged "$url" history.git --since=2020-09-14T12:00:00Z main : \
            --since 2020-09-14T12:00:00Z
        described "$url" history.git main
        described "$url" history.git main --tags
        described "$url" history.git main --match 'v0*' --long
        different "$url" history.git v0.1..main
        patched "$url" history.git topic..other
        check "git: refs --dates, $(label "$place")"
        sw refs --dates --tags "$git/history.git"
        status_is 0
        cp "$out" "$work/wanted"
        sw refs --dates --tags "$url"
        status_is 0
        out_is "$work/wanted"
    done
}

# few.git: filters as Gitea and Forgejo allow them, and of all of them only those that are used.
git_few_filters() {
    local at=$repositories/few.git filter
    cp -r "$repositories/history.git" "$at"
    git -C "$at" config uploadpackfilter.allow false
    for filter in tree blob:none; do
        git -C "$at" config "uploadpackfilter.$filter.allow" true
    done
    git -C "$at" config uploadpackfilter.tree.maxDepth 0
    local place
    for place in "$git" "$web"; do
        archive_as_git "$place/few.git//n?tar" few.git main n
        logged "$place/few.git" few.git v0.1..v0.2 : v0.1..v0.2
        logged "$place/few.git" few.git main -- n/3 second : main -- n/3 second
        described "$place/few.git" few.git main
        different "$place/few.git" few.git v0.1..main
        patched "$place/few.git" few.git topic..other
    done
}

# A log is a page with dates.
git_subscriptions() {
    local at=$work/subscriptions
    check 'git: a log as a feed'
    in_repository history.git rev-list main | sort >"$work/wanted"
    sw feed "$git/history.git?log=main"
    status_is 0
    grep '<id>' "$out" | grep -oE 'log=[0-9a-f]{40}' | cut -c5- | sort >"$work/found"
    must cmp "$work/found" "$work/wanted"
    check 'git: a log is watched'
    git clone -q "$repositories/history.git" "$at" 2>"$err"
    cp -r "$repositories/history.git" "$repositories/watched.git"
    sw watch --diff --state "$work/watch" "$git/watched.git?log=main&n=20"
    status_is 0
    out_says new
    sw watch --diff --state "$work/watch" "$git/watched.git?log=main&n=20"
    status_is 1
    git -C "$at" commit -q --allow-empty -m 'What is new'
    git -C "$at" push -q "$repositories/watched.git" HEAD:main 2>"$err"
    sw watch --diff --json --state "$work/watch" "$git/watched.git?log=main&n=20"
    status_is 0
    out_says '"change":"changed"'
    out_says 'What is new\n'
}

git_history() {
    local name
    make_traps traps.git sha1 && make_traps traps256.git sha256 \
        && make_history history.git sha1 && make_history history256.git sha256 || return
    for name in traps history; do
        cp -r "$repositories/$name.git" "$repositories/unfiltered-$name.git"
        git -C "$repositories/unfiltered-$name.git" config uploadpack.allowFilter false
    done
    git_archives
    git_logs
    git_describes
    git_differences
    git_ancestors
    git_objects
    git_few_filters
    git_signatures
}
