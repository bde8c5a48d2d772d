# bash completion for smallweb, from 'smallweb completions bash'.
# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC1003

# Splits $1, a line up to the cursor, into the array _smallweb_split as the shell would; an
# open quote goes to _smallweb_quote. COMP_WORDS cannot be used: it is split at : and =.
_smallweb_words() {
    local line=$1 word='' state='' c i begun=
    _smallweb_split=() _smallweb_quote=''
    for ((i = 0; i < ${#line}; i++)); do
        c=${line:i:1}
        case $state$c in
            "'''" | '"""' | "''") state='' ;;
            \'?) [ "$c" = \' ] && state='' || word+=$c ;;
            '""') state='' ;;
            '"\') i=$((i + 1)) word+=${line:i:1} ;;
            '"'?) word+=$c ;;
            \\) i=$((i + 1)) word+=${line:i:1} begun=1 ;;
            \' | '"') state=$c begun=1 ;;
            ' ' | $'\t')
                [ -n "$begun" ] && _smallweb_split+=("$word")
                word='' begun=
                ;;
            *) word+=$c begun=1 ;;
        esac
    done
    _smallweb_split+=("$word")
    _smallweb_quote=$state
}

_smallweb() {
    local _smallweb_split _smallweb_quote quote flags='' line replaced rest path
    local -a words found=()
    # readline replaces the part after the last word break, as it was typed.
    _smallweb_words "$2"
    replaced=${_smallweb_split[0]}
    _smallweb_words "${COMP_LINE:0:COMP_POINT}"
    words=("${_smallweb_split[@]}") quote=$_smallweb_quote
    local current=${words[${#words[@]} - 1]}
    local kept=${current%"$replaced"}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :*) flags=,${line#:}, ;;
            *) found+=("${line%%$'\t'*}") ;;
        esac
    done < <("${1/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
    case $flags in *,nospace,*) compopt -o nospace ;; esac
    case $flags in
        *,files,* | *,dirs,*)
            compopt -o filenames
            rest=$current
            case $rest in --*=*) rest=${rest#*=} ;; esac
            case $rest in @*) rest=${rest#@} ;; esac
            local action=-f before=${current%"$rest"}
            case $flags in *,dirs,*) action=-d ;; esac
            while IFS= read -r path; do
                path=$before$path
                COMPREPLY+=("${path#"$kept"}")
            done < <(compgen "$action" -- "$rest")
            return
            ;;
    esac
    # Of several that do not begin with what was typed, readline inserts what they share.
    case $flags in *,replace,*) [ ${#found[@]} -eq 1 ] || return ;; esac
    for line in "${found[@]}"; do
        # Readline compares by letters; what it cannot insert, it need not see.
        line=${line#"$kept"}
        if [ -z "$quote" ]; then
            printf -v line %q "$line"
            # Where braces are quoted, a comma need not be.
            line=${line//\\,/,}
        else
            case $line in *[\'\"\\\$\`]*) continue ;; esac
        fi
        COMPREPLY+=("$line")
    done
}
complete -F _smallweb smallweb
