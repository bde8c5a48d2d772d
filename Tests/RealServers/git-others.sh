# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Git servers that share no code with git: dulwich over git:// and HTTP, klaus and JGit. cgit serves
# only the protocol that is not smart. git.sh calls this for the repositories that it has made.

# What Debian's jgit needs and does not name.
jgit_libraries() {
    local library list=''
    for library in org.eclipse.jgit.lfs org.eclipse.jgit.http.apache slf4j-api slf4j-nop \
        httpclient httpcore; do
        list+=/usr/share/java/$library.jar:
    done
    printf %s "${list%:}"
}

# start_others: sets $dulwich, $dulwich_web, $klaus and $jgit, those that there are.
start_others() {
    local python log=$root/others.log
    python=$(dirname "$JETFORCE")/python
    finish_check
    if "$python" -c 'import dulwich.web, klaus' 2>/dev/null; then
        start "$log" env PYTHONUNBUFFERED=1 "$python" "$here/git-servers.py" "$repositories" \
            normal.git empty.git
        daemons+=("$server")
        port_in "$log" '^dulwich git ' || return
        dulwich=git://127.0.0.1:$port
        port_in "$log" '^dulwich web ' || return
        dulwich_web=git+http://127.0.0.1:$port
        port_in "$log" '^klaus ' || return
        klaus=git+http://127.0.0.1:$port
    else
        missing 'dulwich and klaus'
    fi
    section jgit || return 0
    local -x JGIT_CLASSPATH
    JGIT_CLASSPATH=$(jgit_libraries)
    # That of Debian 13 ends with a missing class.
    if ! jgit version >/dev/null 2>&1; then
        skip "jgit does not start"
    else
        start "$root/jgit.log" jgit daemon --listen 127.0.0.1 --port 0 "$repositories"
        daemons+=("$server")
        port_in "$root/jgit.log" '^Listening on .*127\.0\.0\.1:' || return
        jgit=git://127.0.0.1:$port
    fi
}

# other_refs NAME SERVER LIKE: the lists that a server of git's has, too.
other_refs() {
    # git itself takes for ever over what dulwich says that branches stand for.
    refs_as_git "$1, plain.git" "$2/plain.git" "$3/plain.git" <"$root/queries"
    refs_as_git "$1, an unborn HEAD" "$2/plain-unborn.git" "$3/plain-unborn.git" <<<--symref
    refs_as_git "$1, an empty repository" "$2/empty.git" "$3/empty.git" <<<--symref
    refs_as_git "$1, a shallow repository" "$2/shallow.git" "$3/shallow.git" <<<--symref
}

# other_contents NAME REPOSITORY-URL: each way to name a version, and what is wrong in clear words.
other_contents() {
    local ours theirs id
    in_git "$1: a file" normal.git main:README "$2//README"
    in_git "$1: a nested file" normal.git main:deep/er/still/file "$2//deep/er/still/file"
    in_git "$1: an empty file" normal.git main:empty "$2//empty"
    in_git "$1: a binary file" normal.git main:binary "$2//binary"
    in_git "$1: a symbolic link" normal.git main:link "$2//link"
    listed "$1: all directories" normal.git main "$2//"
    listed "$1: a directory" normal.git main:deep/ "$2//deep/"
    while read -r ours theirs; do
        in_git "$1: $ours" normal.git "$theirs:README" "$2//README?ref=$ours"
    done <<'END'
feature/one feature/one
refs/heads/zebra zebra
v1.0 v1.0
nested-again nested-again
light light
tree tree
END
    id=$(git -C "$repositories/normal.git" rev-parse main)
    in_git "$1: the id of a branch" normal.git main:README "$2//README?ref=$id"
    id=$(git -C "$repositories/normal.git" rev-parse nested)
    in_git "$1: the id of a tag" normal.git nested:README "$2//README?ref=$id"
    git_fails "$1: no such version" 22 'no branch or tag "none"' get "$2//README?ref=none"
    git_fails "$1: no such file" 22 'no "deep/none" in v1.1' get "$2//deep/none?ref=v1.1"
    git_fails "$1: a path through a file" 22 'no "README/x" in HEAD' get "$2//README/x"
    git_fails "$1: a submodule" 22 submodule get "$2//deep/module"
    git_fails "$1: --max-filesize" 63 'larger than' get --max-filesize 10 "$2//README"
}

# other_repositories NAME SERVER: versions that take a larger pack, and repositories of few commits.
other_repositories() {
    local number
    in_git "$1: a detached HEAD" detached.git HEAD:README "$2/detached.git//README"
    in_git "$1: a shallow repository" shallow.git main:README "$2/shallow.git//README"
    in_git "$1: a branch where HEAD is unborn" unborn.git main:README \
        "$2/unborn.git//README?ref=main"
    for number in 1 300; do
        in_git "$1: a chain of deltas, $number" deltas.git "main:versions/$number" \
            "$2/deltas.git//versions/$number"
    done
    in_git "$1: one of 3,000 files" real.git main:part-3/area-3/file-3.txt \
        "$2/real.git//part-3/area-3/file-3.txt"
    in_git "$1: 8 MiB" large.git main:random "$2/large.git//random"
    git_fails "$1: an empty repository" 22 'no commit' get "$2/empty.git//"
    git_fails "$1: an unborn HEAD" 22 'no commit' get "$2/unborn.git//README"
}

# silent_refusals NAME SERVER: what a server has that says nothing when it refuses.
silent_refusals() {
    local id
    git_fails "$1: no such repository" 52 'closed without a reply' refs "$2/missing.git"
    git_fails "$1: no repository" 52 'closed without a reply' get "$2/nothing//file"
    id=1234567890123456789012345678901234567890
    git_fails "$1: no such id" 18 'hung up instead of answering' \
        get "$2/normal.git//README?ref=$id"
}

git_others() {
    local cgit=http://127.0.0.1:$http_port/cgit
    # Without the name that is not UTF-8, which JGit leaves out.
    cp -r "$repositories/normal.git" "$repositories/plain.git"
    git -C "$repositories/plain.git" update-ref -d $'refs/heads/caf\351'
    cp -r "$repositories/plain.git" "$repositories/plain-unborn.git"
    # dulwich takes half a minute for 64 MiB.
    bare large.git
    { commit main large && printf 'M 644 inline random\ndata 8388608\n' && random_bytes 8388608; } \
        | git -C "$repositories/large.git" -c core.bigFileThreshold=1m fast-import --quiet
    git -C "$repositories/plain-unborn.git" symbolic-ref HEAD refs/heads/nowhere
    if [ "$dulwich" != none ]; then
        # Like version 2 it says what every reference stands for.
        other_refs 'dulwich, git' "$dulwich" "$git"
        all_names 'dulwich, git' normal.git "$dulwich/normal.git"
        versions 'dulwich, git' "$dulwich/normal.git"
        other_contents 'dulwich, git' "$dulwich/normal.git"
        other_repositories 'dulwich, git' "$dulwich"
        in_git 'dulwich, git: SHA-256' sha256.git main:README "$dulwich/sha256.git//README"
        in_git 'dulwich, git: a repository with an odd name' normal.git main:README \
            "$dulwich/$(encoded "$odd_repository")//README"
        silent_refusals 'dulwich, git' "$dulwich"
        other_refs 'dulwich, git+http' "$dulwich_web" "$git"
        other_contents 'dulwich, git+http' "$dulwich_web/normal.git"
        other_repositories 'dulwich, git+http' "$dulwich_web"
        git_fails 'dulwich, git+http: no such repository' 22 404 refs "$dulwich_web/missing.git"
        refs_as_git klaus "$klaus/normal" "$git/normal.git" <<<--symref
        other_contents klaus "$klaus/normal"
        git_fails 'klaus: no such repository' 22 404 refs "$klaus/missing"
        git_fails 'klaus: an empty repository' 22 'no commit' get "$klaus/empty//"
    fi
    if [ "$jgit" != none ]; then
        # It says what HEAD stands for, as git does before version 2.
        other_refs JGit "$jgit" "$old"
        all_names JGit normal.git "$jgit/normal.git"
        versions JGit "$jgit/normal.git"
        other_contents JGit "$jgit/normal.git"
        other_repositories JGit "$jgit"
        silent_refusals JGit "$jgit"
    fi
    if [ ! -x /usr/lib/cgit/cgit.cgi ]; then
        missing cgit
        return
    fi
    git_fails 'cgit: not smart' 8 'no smart Git server' refs "git+$cgit/normal.git"
    git_fails 'cgit: no such repository' 22 404 refs "git+$cgit/missing.git"
    check "git: cgit: a file as a page"
    git -C "$repositories/normal.git" cat-file blob main:README >"$work/wanted"
    sw get "$cgit/normal.git/plain/README"
    status_is 0
    out_is "$work/wanted"
}
