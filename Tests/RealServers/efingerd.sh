# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# efingerd behind socat. Its answers are programs in /etc/efingerd, which Debian does not make
# executable: ours are put over them where a private mount is possible.

efingerd_checks() {
    local command=(socat -d -d "TCP-LISTEN:0,$local_only" "EXEC:efingerd -n -u,nofork") place
    local has_programs=false
    mkdir "$work/efingerd"
    script efingerd/list <<<"printf 'ada\r\nbob\r\n'"
    script efingerd/luser <<<"printf 'about %s, ünïcode\r\n' \"\$3\""
    script efingerd/nouser <<<"printf 'no user %s\r\n' \"\$3\""
    if find_namespaces && "${namespace[@]}" -m mount --bind "$work/efingerd" /etc/efingerd; then
        has_programs=true
        # shellcheck disable=SC2016 # another shell expands it
        command=("${namespace[@]}" -m sh -c 'mount --bind "$0" /etc/efingerd && exec "$@"'
            "$work/efingerd" "${command[@]}")
    fi
    start "$work/efingerd.log" "${command[@]}"
    port_in "$work/efingerd.log" 'listening on AF=2 127\.0\.0\.1:' || return
    place=finger://localhost:$port

    check "efingerd: a user"
    sw get "$place/root"
    status_is 0
    out_says root
    err_is_empty

    if ! $has_programs; then
        skip "efingerd's own answers need a private mount"
        return
    fi
    check "efingerd: the list of users"
    sw get "$place/"
    status_is 0
    out_says $'ada\r'
    out_says $'bob\r'

    check "efingerd: a user, as user@host"
    sw get "finger://root@localhost:$port"
    status_is 0
    out_says 'about root, ünïcode'

    check "efingerd: an unknown user"
    sw get "$place/nobody-of-this-name"
    status_is 0
    out_says 'no user nobody-of-this-name'

    check "efingerd: a query with a line end is never sent"
    sw get -v "$place/root%0D%0Aada"
    status_is 3
    err_lacks '>'
    finish_check
    stop "$server"
}

if section socat efingerd unshare; then efingerd_checks; fi
