# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# Mirrors of one folder behind five servers, byte for byte. GMCAPSULED=FILE names GmCapsule's executable.

GMCAPSULED=${GMCAPSULED:-$(dirname "$JETFORCE")/gmcapsuled}

# The files of the folder, the links to them, and their names in a mirror.
mirror_names() {
    sed 's/ *| */\t/g' <<'END'
text.txt                      | text.txt                      | text.txt
page.gmi                      | /page.gmi#fragment            | page.gmi
bytes.bin                     | 1/../bytes.bin                | bytes.bin
empty.txt                     | ./empty.txt                   | empty.txt
A.txt                         | A.txt                         | A.txt
a.txt                         | %61.txt                       | a.txt
Twin/a.txt                    | Twin/a.txt                    | Twin/a.txt
twin/a.txt                    | twin/a.txt                    | twin/a.txt
about                         | about                         | about@
a b/c d.txt                   | a%20b/c%20d.txt               | a b/c d.txt
grün/☃ Ä.txt                  | gr%c3%bcn/☃%20%C3%84.txt      | grün/☃ Ä.txt
100%.txt                      | 100%25.txt                    | 100%25.txt
100%25.txt                    | 100%2525.txt                  | 100%2525.txt
what?.txt                     | what%3f.txt                   | what%3F.txt
a#b.txt                       | a%23b.txt                     | a%23b.txt
a&b+c,d=e'f!~.txt             | a&b+c,d=e'f!%7E.txt           | a&b+c,d=e'f!~.txt
a:b*c.txt                     | ./a:b*c.txt                   | a:b*c.txt
a<b>"c.txt                    | a%3cb%3E%22c.txt              | a%3Cb%3E%22c.txt
@                             | @                             | %@@
x@y.txt                       | x@y.txt                       | x%@y.txt
-                             | -                             | %2d@
v1.0/notes                    | v1.0/notes                    | v1.0@/notes@
v1.0/v1.0/@/x                 | v1.0/v1.0/@/x                 | v1.0@/v1.0@/%@/x@
1/2/3/4/5/6/7/8/9/10/deep.txt | 1/2/3/4/5/6/7/8/9/10/deep.txt | 1/2/3/4/5/6/7/8/9/10/deep.txt
END
}
each_mirrored() {
    local file link mirrored
    while IFS=$'\t' read -r file link mirrored; do "$1" "$file" "$link" "$mirrored"; done < <(mirror_names)
}
make_mirrored() {
    mkdir -p "$(dirname "$root/$1")"
    printf '# %s\n.\n..two\n=> %s\r\nno line end' "$1" "$2" >"$root/$1"
}
link_to() { printf '=> %s a label\n' "$2"; }
# want FILE LINK NAME: a mirror is to have it there, unless the server cannot have it.
want() {
    [ -f "$root/$1" ] || return 0
    mkdir -p "$(dirname "$wanted/$3")"
    cp "$root/$1" "$wanted/$3"
}
# wanted_in SERVER PLACE: sets $wanted, where is what the mirror is to have of the place.
wanted_in() { wanted=$work/$1.wanted/${2/:\/\///}; }

# crawled SERVER PLACE OPTION…: what a mirror has got by then.
crawled() {
    sw crawl --per-host-delay 0 --state "$work/$1.jsonl" --known-hosts "$work/mirrored.known" \
        --mirror "$work/$1.mirror" "${@:3}" "$2/"
}

# is_mirrored SERVER PLACE MENUS OPTION…: a crawl's mirror has the files that are wanted, and as many menus.
is_mirrored() {
    local mirror=$work/$1.mirror menu
    check "mirrors: $1"
    crawled "$1" "$2" "${@:4}"
    status_is 0
    diff -r "$work/$1.wanted" "$mirror" 2>&1 | grep -v "^Only in $mirror" >"$work/difference" \
        && problem "the same files: $(head -n 6 "$work/difference")"
    comm -13 <(cd "$work/$1.wanted" && find . -type f | sort) <(cd "$mirror" && find . -type f | sort) \
        >"$work/others"
    must test "$(wc -l <"$work/others")" -eq "$3"
    while read -r menu; do must grep -q $'\tlocalhost\t'"$port" "$mirror/$menu"; done <"$work/others"
}

# gemini_is_mirrored SERVER PORT: two of its files have two URLs.
gemini_is_mirrored() {
    local wanted
    wanted_in "$1" "gemini://localhost:$2"
    each_mirrored want
    want index.gmi '' index.gmi
    want index.gmi '' @index.gmi
    want Twin/index.gmi '' Twin/index.gmi
    is_mirrored "$1" "gemini://localhost:$2" 0
}

molly_brown_is_mirrored() {
    local outer=$smallweb
    molly_brown_conf "$root" "$work/mirrored" >"$work/mirrored.conf"
    # shellcheck disable=SC2016 # another shell expands it
    start "$work/mirrored-molly.log" "${namespace[@]}" -n \
        sh -c 'ip link set lo up && exec molly-brown -c "$0"' "$work/mirrored.conf"
    enter+=(-t "$server" -n)
    script in-mirrored <<END
exec ${enter[*]} "$outer" "\$@"
END
    check "mirrors: molly-brown starts"
    until_true "${enter[@]}" bash -c 'exec 3<>/dev/tcp/127.0.0.1/1999' || return
    smallweb=$work/in-mirrored
    gemini_is_mirrored molly-brown 1999
    finish_check
    smallweb=$outer
    stop "$server"
}

jetforce_is_mirrored() {
    free_port
    start "$work/mirrored-jetforce.log" env PYTHONUNBUFFERED=1 "$JETFORCE" --host 127.0.0.1 --port "$port" \
        --hostname localhost --dir "$root" --tls-certfile "$work/mirrored.crt" --tls-keyfile "$work/mirrored.key"
    port_in "$work/mirrored-jetforce.log" 'Listening on 127\.0\.0\.1:' || return
    gemini_is_mirrored jetforce "$port"
    stop "$server"
}

gmcapsule_is_mirrored() {
    mkdir -p "$work/mirrored.certs/localhost"
    cp "$work/mirrored.crt" "$work/mirrored.certs/localhost/cert.pem"
    cp "$work/mirrored.key" "$work/mirrored.certs/localhost/key.pem"
    free_port
    printf '%s\n' '[server]' 'host = localhost' 'address = 127.0.0.1' "port = $port" 'processes = 0' \
        "certs = $work/mirrored.certs" '[static]' "root = ${root%/*}" >"$work/mirrored.ini"
    start "$work/mirrored-gmcapsule.log" env PYTHONUNBUFFERED=1 "$GMCAPSULED" -c "$work/mirrored.ini"
    port_in "$work/mirrored-gmcapsule.log" 'Listening on address 127\.0\.0\.1 port ' || return
    gemini_is_mirrored GmCapsule "$port"
    stop "$server"
}

want_gopher() {
    wanted_in "$1" "$2"
    each_mirrored want
    want index.gmi '' index.gmi
    want Twin/index.gmi '' Twin/index.gmi
}

# waits_for_the_empty SERVER PLACE: a reply without a byte, as of a server that fails, is asked for again.
waits_for_the_empty() {
    check "mirrors: $1 has an empty file"
    crawled "$1" "$2"
    status_is 75
    err_says 'waiting: 1'
    must test ! -e "$work/$1.mirror/${2/:\/\///}/empty.txt"
    finish_check
}

pygopherd_is_mirrored() {
    local wanted place
    free_port
    place=gopher://localhost:$port
    printf 'text/plain txt gmi\napplication/octet-stream bin\n' >"$work/mirrored.types"
    pygopherd_conf "$root" "$port" "$work/mirrored.types" >"$work/mirrored-py.conf"
    start "$work/mirrored-py.log" pygopherd "$work/mirrored-py.conf"
    check "mirrors: pygopherd starts"
    until_true grep -qa Running "$work/mirrored-py.log" || return
    want_gopher pygopherd "$place"
    waits_for_the_empty pygopherd "$place"
    is_mirrored pygopherd "$place" "$(find "$root" -type d | wc -l)" --allow-empty
    stop "$server"
}

gophernicus_is_mirrored() {
    local wanted file
    # It takes what follows a `?` for a query. Some bytes of the last name it writes in a way of its own,
    # which is another selector.
    rm "$root/"*[%\#\&*\"\?]*.txt
    script mirrored.run <<END
gophernicus -r "$root" -h localhost -p "\$SOCAT_SOCKPORT" -nm -nr -ns -np
exit 0
END
    serve mirrored "$work/mirrored.run" || return
    want_gopher gophernicus "gopher://localhost:$port"
    mv "$wanted/a b/c d.txt" "$wanted/a b/c%23040d.txt"
    mv "$wanted/grün/☃ Ä.txt" "$wanted/grün/%23342%23230%23203%23040%23303%23204.txt"
    # Each line of a text ends in CRLF.
    find "$wanted" -type f ! -name bytes.bin | while read -r file; do
        awk '{ sub(/\r$/, ""); printf "%s\r\n", $0 }' "$file" >"$work/mirrored.text"
        cp "$work/mirrored.text" "$file"
    done
    waits_for_the_empty gophernicus "gopher://localhost:$port"
    # The menu of the folder is linked as `/`, too.
    is_mirrored gophernicus "gopher://localhost:$port" $(($(find "$root" -type d | wc -l) + 1)) --allow-empty
    stop "$server"
}

folder_checks() {
    local root=$work/mirrored/localhost
    each_mirrored make_mirrored
    each_mirrored link_to >"$root/index.gmi"
    printf '=> %s\n' Twin/ index.gmi >>"$root/index.gmi"
    printf '=> ../\n=> a.txt\n' >"$root/Twin/index.gmi"
    : >"$root/empty.txt"
    # shellcheck disable=SC2046 # numbers
    printf '%b' "$(printf '\\x%02x' $(seq 0 255))" >"$root/bytes.bin"
    certificate mirrored
    if section molly-brown unshare nsenter ip; then
        if find_namespaces; then molly_brown_is_mirrored; else skip "mirrors: molly-brown needs a namespace"; fi
    fi
    if section "$JETFORCE"; then jetforce_is_mirrored; fi
    if section "$GMCAPSULED"; then gmcapsule_is_mirrored; fi
    if section socat pygopherd; then pygopherd_is_mirrored; fi
    if section socat gophernicus; then gophernicus_is_mirrored; fi
}

if section openssl socat; then folder_checks; fi
