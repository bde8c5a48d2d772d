# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Where bodies are written, and where never.

files_checks() {
    local plain=$scripted_plain here=$work/here hostile path

    check "files: -o over a file keeps its mode"
    echo old >"$work/mode"
    chmod 600 "$work/mode"
    sw get -o "$work/mode" "$plain/0/x"
    status_is 0
    must grep -qx 'plain text' "$work/mode"
    must test "$(stat -c %a "$work/mode")" = 600

    check "files: -o through a symbolic link"
    ln -s mode "$work/link"
    echo old >"$work/mode"
    sw get -o "$work/link" "$plain/0/x"
    status_is 0
    must test -L "$work/link"
    must grep -qx 'plain text' "$work/mode"

    check "files: -o - and -o /dev/null"
    sw get -o - -o /dev/null "$plain/0/x" "$plain/9/binary"
    status_is 0
    out_is_text 'plain text'

    check "files: -o to a full device"
    sw get -o /dev/full "$plain/0/x"
    status_is 23
    err_is_one_line
    err_says 'o space left'
    must test -c /dev/full

    check "files: -o into a missing directory, without a hint when it is quiet"
    sw get -q -o "$work/no/such/file" "$plain/0/x"
    status_is 23
    err_is_one_line
    err_lacks hint
    must_not test -e "$work/no"

    check "files: --create-dirs"
    sw get --create-dirs -o "$work/made/for/file" "$plain/0/x"
    status_is 0
    must grep -qx 'plain text' "$work/made/for/file"

    check "files: -o onto a directory"
    sw get -o "$work/made" "$plain/0/x"
    status_is 23
    holds_only "$work/made" './for ./for/file '

    check "files: -O twice takes the next number"
    mkdir "$work/twice"
    sw get -O --output-dir "$work/twice" "$plain/0/file"
    status_is 0
    echo kept >"$work/twice/file"
    sw get -O -P "$work/twice" "$plain/0/file" "$plain/0/file"
    status_is 0
    holds_only "$work/twice" './file ./file.1 ./file.2 '
    must grep -qx kept "$work/twice/file"

    check "files: -O without a name"
    mkdir "$work/index"
    sw get -O --output-dir "$work/index" "$scripted_tls/"
    status_is 0
    holds_only "$work/index" './index.txt '

    check "files: hostile names stay in --output-dir"
    mkdir -p "$here/inner"
    for path in '..%2f..%2fetc' '..%2F..%2Fetc%2Fpasswd' '../../etc/passwd' '%2e%2e' '..' '.' \
        '%2fetc%2fescaped' '/etc//escaped/..' '.bashrc' '..%5cescaped' '%1b]0;owned%07x' \
        'a%e2%80%aeb' '-rf' '~' "$(printf 'x%.0s' {1..240})"; do
        for hostile in "$plain/9/$path" "$scripted_tls/$path"; do
            sw get -O --output-dir "$here/inner" "$hostile"
            status_is 0
        done
    done
    must test "$(find "$here" -mindepth 1 -maxdepth 1)" = "$here/inner"
    must test "$(find "$here/inner" -mindepth 1 -type f | wc -l)" -eq 30
    must test -z "$(find "$here/inner" -mindepth 1 ! -type f)"
    must test -z "$(find "$here/inner" -name '.*')"
    find "$here/inner" -mindepth 1 -printf '%f\n' >"$work/names.txt"
    has_no_controls "$work/names.txt"
    must_not grep -q $'\342\200\256' "$work/names.txt"
    must_not test -e /etc/escaped

    check "files: a full disk leaves nothing"
    if find_namespaces; then
        mkdir "$work/disk"
        script on-small-disk <<END
mount -t tmpfs -o size=64k none "$work/disk" || exit 99
"$smallweb" get -o "$work/disk/file" "$plain/9/megabyte"
status=\$?
ls -A "$work/disk"
exit \$status
END
        patiently "${namespace[@]}" -m "$work/on-small-disk" >"$out" 2>"$err" </dev/null
        status=$?
        status_is 23
        out_is_empty
        err_is_one_line
        err_says 'o space left'
    else
        name=''
        skip "a full disk needs a private mount"
    fi
    finish_check
}

if [ -n "${scripted_plain:-}" ]; then files_checks; fi
