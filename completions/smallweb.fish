# fish completion for smallweb, from 'smallweb completions fish'.
# SPDX-License-Identifier: MIT

function __smallweb_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    # A quote that is still open is not a part of the word.
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
