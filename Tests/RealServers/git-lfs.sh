# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Files in Git LFS, from a server that keeps what it promises and from others. What git-lfs makes of
# them in a clone is what an archive must have. git.sh calls this.

# lfs.git, and its files in $root/lfs-files by their hash.
make_lfs() {
    local at=$work/lfs number
    git init -q -b main "$at" || return
    (
        cd "$at" || exit
        git lfs install --local
        git lfs track '*.bin'
        mkdir d
        random_bytes 3000000 >large.bin
        cp large.bin d/same.bin
        printf 'run\n' >d/run.bin && chmod 755 d/run.bin
        : >d/empty.bin
        printf 'text\n' >README
        for number in {1..130}; do echo "file $number" >"d/$number.bin"; done
        git add -A
        # Not in Git LFS, for its attributes.
        git show :large.bin >pointer.txt
        printf 'd/130.bin export-ignore\n' >>.gitattributes
        git add -A
        git commit -q -m lfs
    ) >"$work/git.err" 2>&1 || return
    mkdir "$root/lfs-files"
    find "$at/.git/lfs/objects" -type f -exec cp {} "$root/lfs-files" ';'
    git clone -q --bare "$at" "$repositories/lfs.git" || return
    git -C "$repositories/lfs.git" config uploadpack.allowFilter true
    : >"$repositories/lfs.git/git-daemon-export-ok"
}

# batches: requests for places that have come since the log was emptied.
batches() { grep -c '/objects/batch' "$root/lfs.log"; }
log_lacks() { if grep -qaF -e "$1" "$root/lfs.log"; then problem "the server's log lacks '$1'"; fi; }

# with_files MANNER: the same archive, whatever the server's manner.
with_files() {
    check "git: LFS: $1"
    : >"$root/lfs.log"
    sw get --tar --lfs -H 'Authorization: Bearer mine' "$lfs/$1/lfs.git"
    status_is 0
    out_is "$work/lfs.tar"
}

git_large_files() {
    local lfs port other manner status_wanted text files
    section git-lfs python3 || return 0
    make_lfs || { check 'git: LFS: the repository is made' && problem 'git lfs' && return; }
    start "$root/lfs.out" python3 "$here/git-lfs-server.py" "$repositories" "$root/lfs-files" \
        "$root/lfs.log"
    daemons+=("$server")
    port_in "$root/lfs.out" '^own ' || return
    lfs=git+http://127.0.0.1:$port
    port_in "$root/lfs.out" '^other ' || return
    other=$port

    check 'git: LFS: git-lfs gets the files from that server'
    git clone -q "${lfs#git+}/honest/lfs.git" "$work/lfs-clone" 2>"$err" || problem 'git clone'
    git -C "$work/lfs-clone" lfs install --local >"$out" || problem 'git lfs install'
    git -C "$work/lfs-clone" lfs pull 2>"$err" || problem 'git lfs pull'
    git -C "$work/lfs-clone" archive --format=tar HEAD >"$work/lfs.tar"
    must tar -xOf "$work/lfs.tar" large.bin
    with_files honest
    [ "$(batches)" -eq 2 ] || problem "two batch requests, not $(batches)"
    check 'git: LFS: a file whose attributes say nothing stays a pointer'
    sw get --tar --lfs --json --body none "$lfs/honest/lfs.git"
    status_is 0
    out_says '"code":"lfs-pointer"'
    out_says 'pointer.txt'
    for manner in relative-url expired other-host redirect; do with_files "$manner"; done
    # What was for one server, and what the batch answer wanted for one URL, goes no further.
    grep "^$other " "$root/lfs.log" >"$work/elsewhere"
    must grep -q /file/honest/ "$work/elsewhere"
    must_not grep -qE 'Authorization|X-Secret|evil|Range' "$work/elsewhere"

    check 'git: LFS: over git:// pointers stay'
    sw get -v --tar --lfs "$git/lfs.git"
    status_is 0
    err_says 'needs HTTP'
    git -C "$repositories/lfs.git" -c filter.lfs.smudge= -c filter.lfs.process= \
        -c filter.lfs.required=false archive --format=tar HEAD >"$work/wanted"
    out_is "$work/wanted"

    while read -r manner status_wanted text; do
        check "git: LFS: a server that lies or refuses: $manner"
        sw get --tar --lfs -o "$work/lfs.out" "$lfs/$manner/lfs.git"
        status_is "$status_wanted"
        err_says "$text"
        has_no_controls "$err"
        must_not test -e "$work/lfs.out"
        log_lacks passwd
    done <<'END'
wrong 8 another file than
short 8 6 bytes of the 7
long 8 more than the 7 bytes
redirect-file 8 scheme "file"
loop 22 redirects
file-url 8 scheme "file"
ftp-url 8 scheme "ftp"
userinfo 8 with a user
huge 8 larger than 4194304 bytes
endless 8 larger than 4194304 bytes
page 8 not JSON
nothing 22 404
missing 22 such file
no-action 22 no download
other-size 8 a file of 8 bytes where 7
twice 8 two places
not-asked 8 says nothing
other-transfer 8 not offered
login 22 401
gone 22 410
busy 75 503
bad-field 8 cannot be sent
END
    check 'git: LFS: --max-filesize'
    sw get --tar --lfs --max-filesize 1M -o "$work/lfs.out" "$lfs/honest/lfs.git"
    status_is 63
    must_not test -e "$work/lfs.out"
    check 'git: LFS: the disk for temporary files is full'
    TMPDIR=/nonexistent sw get --tar --lfs -o "$work/lfs.out" "$lfs/honest/lfs.git"
    status_is 23
    must_not test -e "$work/lfs.out"
}
