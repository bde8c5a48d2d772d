// SPDX-License-Identifier: MIT
internal import SmallWeb

/// The scripts that make a shell ask `smallweb __complete`. They know nothing of our options.
package enum CompletionScripts {
    package static let all: [(shell: String, file: String, text: String)] = [
        ("bash", "smallweb.bash", bash), ("zsh", "_smallweb", zsh), ("fish", "smallweb.fish", fish),
    ]

    private static let bash = #"""
        # bash completion for smallweb, from 'smallweb completions bash'.
        # SPDX-License-Identifier: MIT
        # shellcheck shell=bash disable=SC1003

        # Splits $1, a line up to the cursor, into the array _smallweb_split as the shell would; an
        # open quote goes to _smallweb_quote. COMP_WORDS is of no use: it is split at : and =.
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
            # What readline replaces is the part after the last word break, as it was typed.
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

        """#

    private static let zsh = #"""
        #compdef smallweb
        # zsh completion for smallweb, from 'smallweb completions zsh'.
        # SPDX-License-Identifier: MIT

        _smallweb() {
            local line flags program=${(Q)words[1]/#\~/$HOME}
            local -i i width=0
            local -a lines before candidates descriptions displays options
            before=("${(@Q)words[2,CURRENT-1]}")
            # The quote that is still open is in IPREFIX or not there at all, so the word is this.
            before+=("${IPREFIX}${(Q)PREFIX}")
            lines=("${(@f)$("$program" __complete "${before[@]}" 2>/dev/null)}")
            for line in "${lines[@]}"; do
                case $line in
                    :*) flags=,${line#:}, ;;
                    ?*)
                        candidates+=("${line%%$'\t'*}")
                        descriptions+=("${${line#"$candidates[-1]"}#$'\t'}")
                        (( width = $#candidates[-1] > width ? $#candidates[-1] : width ))
                        ;;
                esac
            done
            # Beside a very long one there is no room.
            (( width = width > COLUMNS / 2 ? COLUMNS / 2 : width ))
            for (( i = 1; i <= $#candidates; i++ )); do
                line=$candidates[i]
                if [[ -n $descriptions[i] ]]; then
                    (( $#line < width )) && line=${(r:width:)line}
                    line+="  -- $descriptions[i]"
                fi
                displays+=("$line")
            done
            if [[ $flags == *,(files|dirs),* ]]; then
                if [[ $PREFIX == --*=* ]]; then compset -P '*='; fi
                compset -P '@'
                if [[ $flags == *,dirs,* ]]; then _files -/; else _files; fi
                return
            fi
            if [[ $flags == *,nospace,* ]]; then options+=(-S ''); fi
            if [[ $flags == *,keep-order,* ]]; then options+=(-V smallweb); fi
            if [[ $flags == *,replace,* ]]; then
                options+=(-U)
                # What several share is not what was typed.
                if (( $#candidates > 1 )); then compstate[insert]=menu; fi
            fi
            # Quoted: an unquoted "$options" would drop the empty suffix.
            if (( $#candidates )); then
                compadd "${options[@]}" -l -d displays -a candidates
            fi
        }

        # Autoloaded by compinit, or read by a startup file.
        if [[ $funcstack[1] == _smallweb ]]; then
            _smallweb "$@"
        else
            compdef _smallweb smallweb
        fi

        """#

    private static let fish = #"""
        # fish completion for smallweb, from 'smallweb completions fish'.
        # SPDX-License-Identifier: MIT

        function __smallweb_complete
            set -l words (commandline -opc)
            set -l current (commandline -ct)
            # A quote that is still open is no part of the word.
            if set -l plain (string unescape -- "$current")
                set current $plain
            else
                set current (string replace -r '^["\']' '' -- "$current")
            end
            set -l lines ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
            set -l flags ,(string sub -s 2 -- "$lines[-1]"),
            if string match -q -r ',(files|dirs),' -- $flags
                set -l kept (string match -r '^(?:--[^=]*=)?@?' -- "$current")
                set -l rest (string replace -- "$kept" '' "$current")
                if string match -q '*,dirs,*' -- $flags
                    set -l paths (__fish_complete_directories "$rest" '')
                    printf '%s\n' "$kept"$paths
                else
                    set -l paths (__fish_complete_path "$rest")
                    printf '%s\n' "$kept"$paths
                end
                return
            end
            if set -q lines[2]
                printf '%s\n' $lines[1..-2]
            end
        end

        complete -c smallweb -f -k -a '(__smallweb_complete)'

        """#
}

extension Command {
    static let completions = Command(
        "completions bash|zsh|fish", "print a shell's completion script",
        manual: "Prints the script that completes commands, options, schemes, visited hosts and "
            + "paths in bash, zsh or fish. make install puts all three where the shells look.",
        examples: [
            (
                "smallweb completions fish > ~/.config/fish/completions/smallweb.fish",
                "For one user of fish"
            )
        ],
        operands: [.choice(CompletionScripts.all.map(\.shell))],
        takes: { $0.isForAll }
    ) { _, operands throws(FetchError) in
        guard let script = CompletionScripts.all.first(where: { $0.shell == operands[0] }) else {
            throw usageError(
                "completions wants bash, zsh or fish",
                hint: Nearest.question(operands[0], among: CompletionScripts.all.map(\.shell)))
        }
        try StandardStream.output.write(script.text)
        return 0
    }
}
