# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# git daemon, and git http-backend behind nginx, in each version of the protocol. What git says is
# what smallweb must say.

# Nothing that a URL, a shell or a quoted string has no trouble with.
odd_repository="odd ünï/100%41#?'\"\\+&=;.git"

# encoded PATH: as a URL has it.
encoded() {
    local LC_ALL=C text=$1 at byte
    for ((at = 0; at < ${#text}; at++)); do
        byte=${text:at:1}
        case $byte in
            [A-Za-z0-9._~/-]) printf %s "$byte" ;;
            *) printf -v byte %d "'$byte" && printf '%%%02X' $((byte & 255)) ;;
        esac
    done
}

# A daemon asks `git` for what it serves; this one has a mind of its own about the version.
forced_git() {
    mkdir -p "$root/forced-$1"
    cat >"$root/forced-$1/git" <<END
#!/bin/sh
GIT_PROTOCOL=version=$1 exec "$(command -v git)" "\$@"
END
    chmod 755 "$root/forced-$1/git"
}

# start_daemon VERSION OPTION…: sets $daemon_port.
start_daemon() {
    local attempt
    forced_git "$1"
    [ "$1" -ne 2 ] || rm "$root/forced-$1/git"
    for attempt in 1 2 3; do
        free_port
        start "$root/daemon-$1.log" env PATH="$root/forced-$1:$PATH" \
            "$(git --exec-path)/git-daemon" --listen=127.0.0.1 --port="$port" --reuseaddr \
            --base-path="$repositories" "${@:2}"
        if eventually has_ended_or accepts "$port" && ! has_ended "$server"; then
            daemon_port=$port
            return
        fi
        stop "$server"
    done
    check "git daemon starts"
    problem "it accepts connections"
    cp "$root/daemon-$1.log" "$err"
    return 1
}

git_locations() {
    local version
    for version in 0 1 2; do
        # shellcheck disable=SC2016 # nginx expands it
        printf 'location ~ ^/v%s(/.*)$ { fastcgi_param PATH_INFO $1; include fastcgi; %s }\n' \
            "$version" "fastcgi_param GIT_PROTOCOL $(
                [ "$version" -eq 2 ] && echo '$http_git_protocol;' || echo "version=$version;"
            ) fastcgi_param HTTP_GIT_PROTOCOL '';"
    done
    echo "location /dumb/ { alias $repositories/; }"
    cat <<'END'
location /moved/ { rewrite ^/moved/(.*)$ /v2/$1 permanent; }
location /to-https/ { rewrite ^/to-https/(.*)$ https://localhost:$tls_port/v2/$1 redirect; }
location /to-http/ { rewrite ^/to-http/(.*)$ http://127.0.0.1:$http_port/v2/$1 redirect; }
location /to-login/ { return 302 /login; }
location /loop/ { return 302 $request_uri; }
location /page/ { default_type text/html; return 200 "<p>page</p>\n"; }
location /claims/ {
    default_type application/x-git-upload-pack-advertisement;
    return 200 "<p>page</p>\n";
}
location /gzip/ {
    gzip on;
    gzip_types *;
    gzip_min_length 1;
    rewrite ^/gzip(/.*)$ $1 break;
    fastcgi_param PATH_INFO $uri;
    fastcgi_param GIT_PROTOCOL $http_git_protocol;
    include fastcgi;
}
location /nothing/ { default_type application/x-git-upload-pack-advertisement; return 200 ""; }
location /forbidden/ { return 403; }
location /login/ { return 401; }
location /busy/ { return 503; }
END
}

cgit_location() {
    cat <<END
location ~ ^/cgit(/.*)\$ {
    fastcgi_pass unix:$root/fcgi;
    fastcgi_param SCRIPT_FILENAME /usr/lib/cgit/cgit.cgi;
    fastcgi_param CGIT_CONFIG $root/cgitrc;
    fastcgi_param PATH_INFO \$1;
    fastcgi_param REQUEST_METHOD \$request_method;
    fastcgi_param QUERY_STRING \$query_string;
}
END
}

# start_git_http: nginx and fcgiwrap; sets $http_port and $tls_port.
start_git_http() {
    mkdir -p "$root"
    start "$root/fcgiwrap.log" fcgiwrap -c 4 -s "unix:$root/fcgi"
    fcgiwrap=$server
    { git_locations && cgit_location; } >"$root/locations"
    printf '%s\n' 'virtual-root=/cgit/' 'remove-suffix=0' "scan-path=$repositories" >"$root/cgitrc"
    cat >"$root/fastcgi" <<END
fastcgi_pass unix:$root/fcgi;
fastcgi_buffering off;
fastcgi_param SCRIPT_FILENAME $(git --exec-path)/git-http-backend;
fastcgi_param GIT_PROJECT_ROOT $repositories;
fastcgi_param REQUEST_METHOD \$request_method;
fastcgi_param QUERY_STRING \$query_string;
fastcgi_param CONTENT_TYPE \$content_type;
fastcgi_param CONTENT_LENGTH \$content_length;
fastcgi_param REMOTE_ADDR \$remote_addr;
END
    start_nginx_below "$root" git_http || return
    nginx=$server
}

git_http() {
    cat <<END
    access_log off;
    server {
        listen 127.0.0.1:$http_port;
        include locations;
    }
    server {
        listen 127.0.0.1:$tls_port ssl http2;
        ssl_certificate $work/site.crt;
        ssl_certificate_key $work/site.key;
        include locations;
    }
END
}

# What the server of a URL is called, and the URL for git.
label() {
    case $1 in
        "$dulwich") echo 'dulwich, git' ;;
        "$dulwich_web") echo 'dulwich, git+http' ;;
        "$jgit") echo JGit ;;
        git+*) echo "${1%%:*} v${1: -1}" ;;
        *) echo "git v${daemon_version[$1]}" ;;
    esac
}
for_git() { printf %s "${1#git+}"; }

speak_their_versions() {
    local place version
    for place in "${places[@]}"; do
        version=$(label "$place")
        check "git: $version is what it says"
        GIT_TRACE_PACKET=1 git ls-remote "$(for_git "$place")/normal.git" >"$out" 2>"$err" \
            || problem "git ls-remote"
        version=${version: -1}
        if [ "$version" -gt 0 ]; then err_says "< version $version"; else err_lacks '< version'; fi
    done
}

# refs_as_git NAME URL [OTHER]: what git ls-remote says of it, or of the other URL, for each line of
# standard input with options and patterns.
refs_as_git() {
    local words word options patterns
    check "git: references: $1"
    while read -ra words; do
        options=() patterns=()
        for word in ${words[@]+"${words[@]}"}; do
            case $word in --*) options+=("$word") ;; *) patterns+=("$word") ;; esac
        done
        git ls-remote ${options[@]+"${options[@]}"} "$(for_git "${3:-$2}")" \
            ${patterns[@]+"${patterns[@]}"} >"$work/wanted" 2>"$work/git.err" \
            || problem "git ls-remote ${words[*]:-}: $(cat "$work/git.err")"
        sw refs ${options[@]+"${options[@]}"} "$2" ${patterns[@]+"${patterns[@]}"}
        status_is 0
        out_is "$work/wanted"
        err_is_empty
        # The next would hide what this one said.
        [ "${#problems[@]}" -eq 0 ] || break
    done
}

git_refs() {
    local place file
    for place in "${places[@]}"; do
        for file in normal sha256 empty unborn detached shallow; do
            refs_as_git "$(label "$place"), $file.git" "$place/$file.git" <"$root/queries"
        done
        file=$(encoded "$odd_repository")
        refs_as_git "$(label "$place"), a repository with an odd name" "$place/$file" <<<--symref
        refs_as_git "$(label "$place"), without the name's end" "$place/normal" <<<main
        refs_as_git "$(label "$place"), with a slash at the end" "$place/normal.git/" <<<--tags
        printf '%s\n' '' '--heads *9' >"$work/few"
        refs_as_git "$(label "$place"), 100,000 references" "$place/many.git" <"$work/few"
    done
    refs_as_git "a plain http URL" "http://127.0.0.1:$http_port/v2/normal.git" <"$root/queries"
    refs_as_git "http, compressed" "git+http://127.0.0.1:$http_port/gzip/normal.git" \
        <"$root/queries"
    refs_as_git "a plain https URL" "https://localhost:$tls_port/v2/normal.git" <"$root/queries"

    check "git: refs -o"
    git ls-remote "$git/normal.git" >"$work/wanted"
    sw refs -o "$work/refs" "$git/normal.git"
    status_is 0
    out_is_empty
    must cmp "$work/refs" "$work/wanted"
    check "git: get of a repository lists its references"
    sw get "$git/normal.git"
    status_is 0
    out_is "$work/wanted"
    check "git: refs into a full disk"
    sw refs -o /dev/full "$git/normal.git"
    status_is 23
    check "git: refs for a reader that goes away"
    env --default-signal "$smallweb" refs "$git/many.git" 2>"$err" | head -n 1 >"$out"
    status=${PIPESTATUS[0]}
    status_is 141
    out_says HEAD
    err_is_empty
    check "git: refs of a path"
    sw refs "$git/normal.git//README"
    status_is 2
    out_is_empty
}

# in_git NAME REPOSITORY OBJECT URL: the content that git has for it, alone.
in_git() {
    check "git: $1"
    git -C "$repositories/$2" cat-file blob "$3" >"$work/wanted" 2>"$work/git.err" \
        || problem "git cat-file blob $3: $(cat "$work/git.err")"
    sw get "$4"
    status_is 0
    out_is "$work/wanted"
}

# listed NAME REPOSITORY TREE URL: the same for directories.
listed() {
    check "git: $1"
    git -C "$repositories/$2" -c core.quotePath=false ls-tree "$3" >"$work/wanted" \
        2>"$work/git.err" || problem "git ls-tree $3: $(cat "$work/git.err")"
    sw get "$4"
    status_is 0
    out_is "$work/wanted"
    err_is_empty
}

# all_names LABEL REPOSITORY URL: every file and directory of main.
all_names() {
    local entry type file
    while IFS= read -rd '' entry; do
        read -r _ type _ <<<"$entry"
        file=${entry#*$'\t'}
        case $type in
            blob) in_git "$1: ${file@Q}" "$2" "main:$file" "$3//$(encoded "$file")" ;;
            tree) listed "$1: directory ${file@Q}" "$2" "main:$file" "$3//$(encoded "$file")" ;;
        esac
        err_is_empty
    done < <(git -C "$repositories/$2" ls-tree -rtz main)
    listed "$1: all directories" "$2" main "$3//"
}

# Versions by any name; each line has what the URL and what git calls it.
versions() {
    local url=$2 ours theirs id
    while read -r ours theirs; do
        in_git "$1: ref=$ours" normal.git "${theirs:-$ours}:README" "$url//README?ref=$ours"
        err_is_empty
    done <<'END'
main refs/heads/main
refs/heads/main
heads/main refs/heads/main
heads/heads/main refs/heads/heads/main
feature/one
heads/feature/one
refs/heads/feature/one
zebra
alias
loose
v1.0
v1.1
inner
tags/v1.0
refs/tags/v1.0
nested
nested-again
light
tree
light-tree
twin refs/tags/twin
heads/twin
%C3%BCn%C3%AF/%E2%98%83 refs/heads/ünï/☃
ünï/☃ refs/heads/ünï/☃
origin/away
remotes/origin/away
origin refs/remotes/origin/HEAD
refs/pull/1/head
pull/1/head
notes/commits
HEAD
END
    for theirs in main v1.0 twin nested tree light-tree; do
        id=$(git -C "$repositories/normal.git" rev-parse "$theirs" 2>"$work/git.err")
        in_git "$1: the id of $theirs" normal.git "$theirs:README" "$url//README?ref=$id"
    done
    for theirs in blob light-blob; do
        in_git "$1: the file that $theirs names" normal.git "$theirs^{blob}" "$url//?ref=$theirs"
    done
    listed "$1: a version without files" normal.git refs/heads/void "$url//?ref=void"
    listed "$1: a directory in a tag" normal.git v1.1:deep/er "$url//deep/er/?ref=v1.1"
    listed "$1: a tag of a directory" normal.git 'tree^{tree}' "$url//?ref=tree"
}

# many_files NAME URL EVERY: the files of real.git, each EVERY-th of them, many in one run.
many_files() {
    local names from urls
    mapfile -t names < <(cd "$root/real" && find . -type f | sort | sed -n "1~$3{s|^\./||;p}")
    check "git: $1: ${#names[@]} files"
    for ((from = 0; from < ${#names[@]}; from += 500)); do
        urls=("${names[@]:from:500}")
        (cd "$root/real" && cat "${urls[@]}") >"$work/wanted"
        sw get -j 8 --per-host 8 "${urls[@]/#/$2//}"
        status_is 0
        out_is "$work/wanted"
        err_is_empty
        [ "${#problems[@]}" -eq 0 ] || break
    done
    # The trace of a failure would be all URLs.
    command=("${command[@]:0:6}")
}

git_contents() {
    local place file number id
    for place in "${places[@]}"; do
        all_names "$(label "$place")" normal.git "$place/normal.git"
        file=$(encoded "$odd_repository")
        in_git "$(label "$place"): a repository with an odd name" normal.git main:README \
            "$place/$file//README"
        in_git "$(label "$place"): SHA-256" sha256.git main:README "$place/sha256.git//README"
        in_git "$(label "$place"): SHA-256, a nested tag" sha256.git nested-again:README \
            "$place/sha256.git//README?ref=nested-again"
        listed "$(label "$place"): SHA-256, a directory" sha256.git main:deep/ \
            "$place/sha256.git//deep/"
        in_git "$(label "$place"): a detached HEAD" detached.git HEAD:README \
            "$place/detached.git//README"
        in_git "$(label "$place"): a shallow repository" shallow.git main:README \
            "$place/shallow.git//README"
        in_git "$(label "$place"): a branch where HEAD is unborn" unborn.git main:README \
            "$place/unborn.git//README?ref=main"
        in_git "$(label "$place"): the last of 100,000 references" many.git tag-49999:README \
            "$place/many.git//README?ref=tag-49999"
        for number in 1 2 150 299 300; do
            in_git "$(label "$place"): a chain of deltas, $number" deltas.git \
                "main:versions/$number" "$place/deltas.git//versions/$number"
        done
        in_git "$(label "$place"): one of 3,000 files" real.git \
            main:part-3/area-3/file-3.txt "$place/real.git//part-3/area-3/file-3.txt"
    done
    # Where versions come whole. For the others see what memory it takes.
    for place in "$old" "${web%2}0"; do
        in_git "$(label "$place"): a file beside two of 64 MiB" big.git main:small \
            "$place/big.git//small"
    done
    in_git "$(label "$old"): 64 MiB" big.git main:random "$old/big.git//random"
    in_git "http, compressed" normal.git main:README \
        "git+http://127.0.0.1:$http_port/gzip/normal.git//README"
    listed "a directory of 20,000 names" real.git wide:wide "$git/real.git//wide?ref=wide"
    for place in "$git" "$web" "$secure"; do
        all_names "$(label "$place"), no filters" unfiltered.git "$place/unfiltered.git"
    done
    all_names "SHA-256" sha256.git "$git/sha256.git"
    for place in "${places[@]}"; do
        versions "$(label "$place")" "$place/normal.git"
    done
    id=$(git -C "$repositories/normal.git" rev-parse main~1)
    for place in "$git" "$web" "${web%2}1" "${web%2}0" "$secure"; do
        in_git "$(label "$place"): an older version by its id" normal.git main~1:README \
            "$place/normal.git//README?ref=$id"
    done
    in_git "an id in upper case" normal.git main~1:README "$git/normal.git//README?ref=${id^^}"

    mkdir "$root/real"
    git -C "$repositories/real.git" archive main | tar -xC "$root/real"
    many_files "git v2" "$git/real.git" 1
    many_files "git+http v2" "$web/real.git" 5
    many_files "git+https v2" "$secure/real.git" 10
}

git_files() {
    check "git: -o"
    sw get -o "$work/file" "$git/normal.git//README"
    status_is 0
    out_is_empty
    must cmp "$work/file" <(git -C "$repositories/normal.git" cat-file blob main:README)

    check "git: -O takes the name from the URL, without the version"
    mkdir "$work/git-named"
    sw get -O -P "$work/git-named" "$git/normal.git//100%25.txt" "$git/normal.git//what%3F.txt" \
        "$git/normal.git//README?ref=v1.0" "$web/normal.git//a%20b/c%20d.txt" \
        "$secure/normal.git//gr%C3%BCn%20%E2%98%83/%C3%BCn%C3%AF.txt" "$git/normal.git//empty"
    status_is 0
    holds_only "$work/git-named" './100%.txt ./README ./c d.txt ./empty ./what?.txt ./ünï.txt '
    must cmp "$work/git-named/README" <(git -C "$repositories/normal.git" cat-file blob v1.0:README)
    must_not test -s "$work/git-named/empty"

    check "git: -O of a symbolic link makes none"
    sw get -O -P "$work/git-named" "$git/normal.git//deep/out"
    status_is 0
    must_not test -L "$work/git-named/out"

    check "git: -O of what is missing writes nothing"
    mkdir "$work/none"
    sw get -O -P "$work/none" "$git/normal.git//missing" "$web/normal.git//missing"
    status_is 22
    holds_only "$work/none" ''
    rm -r "$work/git-named" "$work/none" "$work/file"
}

git_runs() {
    local version
    check "git: several versions over several schemes in one run"
    for version in v1.0 inner light; do
        git -C "$repositories/normal.git" cat-file blob "$version:README"
    done >"$work/wanted"
    sw get "$git/normal.git//README?ref=v1.0" "$web/normal.git//README?ref=inner" \
        "$secure/normal.git//README?ref=light"
    status_is 0
    out_is "$work/wanted"

    check "git: parallel: the first failure in order is the exit status"
    sw get -j 8 --per-host 8 "$git/normal.git//README" "$web/normal.git//README?ref=none" \
        "git+http://127.0.0.1:$http_port/busy/x.git" "$git/missing.git" "$git/normal.git//README"
    status_is 22
    must test "$(wc -l <"$out")" -eq 2
}

# git_fails NAME STATUS TEXT ARGUMENT…: no output, and one line of error that has the text.
git_fails() {
    check "git: $1"
    sw "${@:4}"
    status_is "$2"
    err_says "$3"
    out_is_empty
    if [ "$2" -eq 60 ]; then err_is_one_line_and_a_hint; else err_is_one_line; fi
    has_no_controls "$err"
}

git_errors() {
    local place id refused held
    for place in "${places[@]}"; do
        id=$(label "$place")
        refused=404
        case $place in
            git://*) refused='access denied or repository not exported' ;;
        esac
        [ "$place" != "$old" ] || refused='no such repository'
        git_fails "$id: no such repository" 22 "$refused" refs "$place/missing.git"
        git_fails "$id: a file where none is" 22 "$refused" get "$place/missing.git//file"
        git_fails "$id: no repository" 22 "$refused" refs "$place/nothing"
        [ "$place" != "$old" ] || refused='repository not exported'
        git_fails "$id: not exported" 22 "$refused" get "$place/secret.git//README"
        git_fails "$id: no such version" 22 'no branch or tag "none"' \
            get "$place/normal.git//README?ref=none"
        git_fails "$id: a version that is a part of a name" 22 'no branch or tag "feature"' \
            get "$place/normal.git//README?ref=feature"
        git_fails "$id: no such id" 22 'not our ref' \
            get "$place/normal.git//README?ref=1234567890123456789012345678901234567890"
        git_fails "$id: a dangling reference" 22 'no branch or tag "dangling"' \
            get "$place/normal.git//README?ref=dangling"
        git_fails "$id: an unborn HEAD" 22 'no commit' get "$place/unborn.git//README"
        git_fails "$id: an empty repository" 22 'no commit' get "$place/empty.git//"
        git_fails "$id: no such file" 22 'no "none" in HEAD' get "$place/normal.git//none"
        git_fails "$id: no such file in a directory" 22 'no "deep/none" in v1.1' \
            get "$place/normal.git//deep/none?ref=v1.1"
        git_fails "$id: a path through a file" 22 'no "README/more" in HEAD' \
            get "$place/normal.git//README/more"
        git_fails "$id: a path through a link" 22 'no "link/more" in HEAD' \
            get "$place/normal.git//link/more"
        git_fails "$id: a submodule" 22 submodule get "$place/normal.git//deep/module"
        git_fails "$id: a path in a submodule" 22 submodule get "$place/normal.git//deep/module/x"
        git_fails "$id: a path in the tag of a file" 22 'no "README" in blob' \
            get "$place/normal.git//README?ref=blob"
        git_fails "$id: --exit-code" 22 'no reference' refs --exit-code "$place/normal.git" nope
        git_fails "$id: --max-filesize" 63 'larger than' \
            get --max-filesize 10 "$place/normal.git//README"
        git_fails "$id: --max-filesize and -o" 63 'larger than' \
            get --max-filesize 10 -o "$work/large" "$place/normal.git//README"
        must_not test -e "$work/large"
        check "git: $id: --exit-code with a match"
        sw refs --exit-code "$place/normal.git" main
        status_is 0
    done
    id=$(git -C "$repositories/normal.git" rev-parse main~1)
    # Before version 2 a daemon gives out what its references name, and nothing else.
    for place in "$old" "$older"; do
        git_fails "$(label "$place"): an id that no reference has" 22 'not our ref' \
            get "$place/normal.git//README?ref=$id"
    done
    git_fails "an id of the wrong length" 22 'no branch or tag' \
        get "$git/sha256.git//README?ref=$id"

    free_port
    git_fails "nobody listens" 7 "127.0.0.1:$port" refs "git://127.0.0.1:$port/x.git"
    git_fails "nobody listens, http" 7 "127.0.0.1" refs "git+http://127.0.0.1:$port/x.git"
    git_fails "HTTP on the port of Git" 8 'not the Git protocol' \
        refs "git://127.0.0.1:$http_port/x.git"
    check "git: Git on the port of HTTP"
    sw refs "git+http://127.0.0.1:${git##*:}/x.git"
    # The daemon may leave something unread when it closes, which resets the connection.
    case $status in 52 | 56) ;; *) problem "exit status 52 or 56" ;; esac
    git_fails "TLS on the port of Git" 35 '' refs "git+https://localhost:${git##*:}/x.git"

    # It must read the request: what is unread when it ends would reset the connection.
    script closing.run <<'END'
IFS= read -rN 4 length
head -c $((16#$length - 4)) >/dev/null
END
    serve closing "$work/closing.run" && place=git://127.0.0.1:$port
    git_fails "a server that closes at once" 52 'closed without a reply' refs "$place/x.git"
    stop "$server"
    script cut.run <<'END'
IFS= read -rN 4 length
head -c $((16#$length - 4)) >/dev/null
printf '000eversion 2\n0012ls-re'
END
    serve cut "$work/cut.run" && place=git://127.0.0.1:$port
    git_fails "a server that closes in the middle" 18 'hung up' refs "$place/x.git"
    stop "$server"
    script silent.run <<<'cat >/dev/null'
    serve silent "$work/silent.run" && place=git://127.0.0.1:$port
    git_fails "a silent server" 28 '' refs --read-timeout 0.5 "$place/x.git"
    stop "$server"

    # The daemon accepts in order, so the one before us is being served.
    start_daemon 2 --max-connections=1 || return
    exec {held}<>"/dev/tcp/127.0.0.1/$daemon_port"
    git_fails "a daemon that serves no more at a time" 7 'before any reply' \
        refs "git://127.0.0.1:$daemon_port/normal.git"
    exec {held}>&-
    stop "$server"
}

git_http_errors() {
    local place=git+http://127.0.0.1:$http_port
    local tls=git+https://localhost:$tls_port
    git_fails "http: 404" 22 404 get "$place/nowhere/x.git//file"
    git_fails "http: 403" 22 403 refs "$place/forbidden/x.git"
    git_fails "http: 401" 22 401 refs "$place/login/x.git"
    git_fails "http: 503" 75 503 refs "$place/busy/x.git"
    git_fails "http: a web page" 8 text/html refs "$place/page/x.git"
    git_fails "http: a web page that claims to be more" 8 'not the Git protocol' \
        refs "$place/claims/x.git"
    git_fails "http: a server that is not smart" 8 'no smart Git server' \
        refs "$place/dumb/normal.git"
    git_fails "http: an empty reply" 18 'in the middle' refs "$place/nothing/x.git"
    git_fails "http: a redirect to something else" 22 '' refs "$place/to-login/x.git"
    git_fails "http: redirects in circles" 47 '' refs "$place/loop/x.git"
    git_fails "http: a redirect from https to http" 102 '' refs "$tls/to-http/normal.git"
    git_fails "http: a redirect that is not followed" 102 '' \
        refs --no-location "$place/moved/normal.git"

    for place in "$place" "$tls"; do
        refs_as_git "${place%%:*}: a redirect" "$place/moved/normal.git" </dev/null
        check "git: ${place%%:*}: a redirect, as followed"
        git ls-remote "$git/normal.git" >"$work/wanted"
        sw refs -v "$place/moved/normal.git"
        status_is 0
        out_is "$work/wanted"
        err_says "301 redirect to $place/v2/normal.git"
        in_git "${place%%:*}: a file after a redirect" normal.git v1.0:README \
            "$place/moved/normal.git//README?ref=v1.0"
    done
    check "git: http to https is followed"
    sw refs "git+http://127.0.0.1:$http_port/to-https/normal.git"
    status_is 0
    out_is "$work/wanted.refs"
    in_git "http to https is followed for a file" normal.git main:deep/er/still/file \
        "git+http://127.0.0.1:$http_port/to-https/normal.git//deep/er/still/file"
    check "git: https to http when it is asked for"
    sw refs --proto-redir git+http "$tls/to-http/normal.git"
    status_is 0
    out_is "$work/wanted.refs"

    git_fails "a certificate for another name" 60 '' \
        refs --resolve "other.test:$tls_port:127.0.0.1" \
        "git+https://other.test:$tls_port/v2/normal.git"
    SSL_CERT_FILE=$work/git-stranger.crt git_fails "an authority that we do not know" 60 '' \
        refs "$secure/normal.git"
    check "git: -k"
    SSL_CERT_FILE=$work/git-stranger.crt sw refs -k "$secure/normal.git"
    status_is 0
    out_is "$work/wanted.refs"
}

# counted PLACE: sets $relay to the same server, by way of one who counts what it sends.
counted() {
    local address=${1#*//}
    script relay.run <<END
socat -b 8192 - "TCP:${address%%/*}" | tee -a "$work/received"
END
    serve relay "$work/relay.run" || return
    relay=${1%%//*}//127.0.0.1:$port
    case $address in */*) relay+=/${address#*/} ;; esac
}

# received_less BYTES
received_less() {
    local count
    count=$(wc -c <"$work/received")
    [ "$count" -lt "$1" ] || problem "less than $1 bytes from the server, not $count"
}

git_economy() {
    local place relay where
    for place in "$git" "$web"; do
        where=$(label "$place")
        counted "$place" || return
        check "git: $where: one of 3,000 files moves little"
        : >"$work/received"
        sw get "$relay/real.git//part-7/area-77/file-2477.txt"
        status_is 0
        out_is "$root/real/part-7/area-77/file-2477.txt"
        received_less 20000

        check "git: $where: --heads leaves tags with the server"
        : >"$work/received"
        sw refs --heads "$relay/normal.git"
        status_is 0
        must grep -qa refs/heads/main "$work/received"
        must_not grep -qa refs/tags "$work/received"

        check "git: $where: --max-filesize ends early"
        : >"$work/received"
        sw get --max-filesize 1M "$relay/big.git//random"
        status_is 63
        # Of 64 MiB; what a busy machine leaves in the buffers of sockets is some megabytes.
        received_less 16000000
        stop "$server"
    done
}

# peak ARGUMENT…: runs smallweb, and sets $peak_kib to its peak resident set.
peak() {
    local smallweb=$work/timed
    sw "$@"
    peak_kib=$(tail -n 1 "$work/peak")
}

# cut_after BYTES PLACE: sets $relay to what leaves its server after so many bytes.
cut_after() {
    local address=${2#*//}
    script cut.run <<END
exec 5< <(exec socat -b 8192 - "TCP:${address%%/*}")
dd bs=1 count=$1 status=none <&5
kill \$!
END
    serve cut "$work/cut.run" || return
    relay=${2%%//*}//127.0.0.1:$port
    case $address in */*) relay+=/${address#*/} ;; esac
}

git_cut_off() {
    local place relay count all
    mkdir "$work/cut"
    for place in "$git" "$web" "$old"; do
        counted "$place" || return
        : >"$work/received"
        sw get -o "$work/whole" "$relay/normal.git//deep/er/still/file"
        stop "$server"
        # Give or take a few: a server cuts the same pack into packets as it comes.
        all=$(wc -c <"$work/received")
        for count in 0 1 3 4 100 500 1000 $((all / 2)) $((all - 300)) $((all - 40)); do
            # Smart HTTP makes several requests on one connection, which is cut off only once.
            cut_after "$count" "$place" || return
            check "git: $(label "$place"): cut off after $count of $all bytes"
            sw get -o "$work/cut/file" "$relay/normal.git//deep/er/still/file"
            case $place-$count in
                *-0) status_is 52 ;;
                git+*) [ "$status" -ne 0 ] || problem "an exit status" ;;
                *) status_is 18 ;;
            esac
            err_is_one_line
            holds_only "$work/cut" ''
            rm -f "$work/cut/file"
            stop "$server"
        done
    done
    rm -r "$work/cut"
}

git_memory() {
    local place file small peak_kib
    script timed <<END
exec "$(command -v time)" -q -f %M -o "$work/peak" "$smallweb" "\$@"
END
    for place in "${places[@]}"; do
        check "git: $(label "$place"): 100,000 references take little memory"
        peak refs "$place/normal.git"
        small=$peak_kib
        peak refs "$place/many.git"
        status_is 0
        [ "$(wc -l <"$out")" -eq 100002 ] || problem "100,002 lines"
        [ $((peak_kib - small)) -lt 10240 ] \
            || problem "less than 10 MiB more than $small KiB, not $peak_kib"
    done
    for place in "$git" "$web" "$secure"; do
        for file in random zeros; do
            check "git: $(label "$place"): 64 MiB of $file take little memory"
            peak get "$place/big.git//$file"
            status_is 0
            git -C "$repositories/big.git" cat-file blob "main:$file" | cmp -s - "$out" \
                || problem "the content that git has"
            [ "$peak_kib" -lt 40960 ] || problem "less than 40 MiB, not $peak_kib KiB"
        done
    done
}

# git_checks PART: `git`, or `git-more` for history, large files and servers other than git's own.
git_checks() {
    local root=$work/git repositories=$work/git/repositories place
    local dulwich=none dulwich_web=none klaus=none jgit=none
    local git older old web secure places daemons=() daemon_port fcgiwrap nginx http_port tls_port
    local -A daemon_version=()
    mkdir -p "$repositories/${odd_repository%/*}"
    if ! make_repositories; then
        check "git: repositories"
        problem "they can be made"
        return
    fi
    authority git-authority
    authority git-stranger
    signed site git-authority DNS:localhost
    export SSL_CERT_FILE=$work/git-authority.crt GIT_SSL_CAINFO=$work/git-authority.crt
    export GIT_TERMINAL_PROMPT=0
    start_daemon 2 || return
    git=git://127.0.0.1:$daemon_port
    daemons+=("$server")
    start_daemon 1 || return
    older=git://127.0.0.1:$daemon_port
    daemons+=("$server")
    start_daemon 0 --informative-errors || return
    old=git://127.0.0.1:$daemon_port
    daemons+=("$server")
    daemon_version=(["$git"]=2 ["$older"]=1 ["$old"]=0)
    start_git_http || return
    web=git+http://127.0.0.1:$http_port/v2 secure=git+https://localhost:$tls_port/v2
    places=("$git" "$older" "$old" "$web" "${web%2}1" "${web%2}0" "$secure")
    git ls-remote "$git/normal.git" >"$work/wanted.refs"
    cat >"$root/queries" <<'END'

--heads
--tags
--heads --tags
--symref
--symref HEAD
--symref --heads
v*
refs/heads/*
main
heads/main
[a-m]*
[!a-m]*
[^a-m]*
v[[:digit:]].?
v1\.0
refs/tags/v1.[0-1]
[]v]*
[
v1.0\
?ain
**/main
*
*^{}
v1.0 zebra
--tags v1.0
--heads feature/*
nope
END
    if [ "$1" = git ]; then
        speak_their_versions
        git_refs
        git_contents
        git_files
        git_runs
        git_errors
        git_http_errors
        git_economy
        git_cut_off
        git_memory
    else
        start_others || return
        git_others
        git_history
        git_other_history
        git_subscriptions
        git_large_files
    fi
    finish_check
    unset SSL_CERT_FILE GIT_SSL_CAINFO
    for server in "${daemons[@]}" "$fcgiwrap" "$nginx"; do stop "$server"; done
    rm -rf "$root"
}

# shellcheck source-path=SCRIPTDIR source=git-repositories.sh
. "$here/git-repositories.sh"
# shellcheck source-path=SCRIPTDIR source=git-history.sh
. "$here/git-history.sh"
# shellcheck source-path=SCRIPTDIR source=git-lfs.sh
. "$here/git-lfs.sh"
# shellcheck source-path=SCRIPTDIR source=git-others.sh
. "$here/git-others.sh"
if section git nginx fcgiwrap openssl socat time tar; then git_checks "$part"; fi
