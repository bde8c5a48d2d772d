# SPDX-License-Identifier: MIT
"""Types lines into a shell on a pseudo-terminal, presses TAB, and asks the shell what its line is.

usage: drive.py bash|zsh|fish SMALLWEB-DIRECTORY COMPLETION-SCRIPT [lazy]

With lazy the script is where a package installs it, and the shell finds it at the first TAB. Bash
does so by the bash-completion package.
"""

import os
import pty
import select
import subprocess
import sys
import tempfile
import time

shell, bin_directory, script = sys.argv[1:4]
is_lazy = len(sys.argv) > 4
home = tempfile.mkdtemp(prefix="smallweb-shells.")
answer = home + "/answer"
os.makedirs(home + "/state/smallweb")
os.makedirs(home + "/config/smallweb")
os.makedirs(home + "/files/many")
os.makedirs(home + "/data/smallweb/identities")
os.makedirs(home + "/cache/smallweb/refs")
with open(home + "/cache/smallweb/refs/git%3A%2F%2Frepo.example%2Fr.git", "w") as file:
    file.write("main\nv1.0\n")
open(home + "/data/smallweb/identities/alice.pem", "w").close()
with open(home + "/data/smallweb/known_hosts", "w") as file:
    file.write("pinned.example:1965 k sha256:%s expires=- first=1 last=1 n=1\n" % ("ab" * 32))
for name in ("notes.gmi", "two words.txt"):
    open(home + "/files/" + name, "w").close()
history = [
    "gemini://gem.example/docs/faq.gmi",
    "gemini://gem.example/docs/guide.gmi",
    "gopher://hole.example/1/phlog/day1",
    "gopher://hole.example/0/about",
    "finger://alice@users.example",
]
with open(home + "/state/smallweb/history", "w") as file:
    for number, url in enumerate(history):
        file.write("%d\t%s\n" % (1795212233 + number, url))
with open(home + "/config/smallweb/bookmarks", "w") as file:
    file.write("https://search.example/?q=a&b=c\tSearch\n")

environment = {
    "HOME": home, "TERM": "xterm", "LC_ALL": "C.UTF-8", "INPUTRC": "/dev/null",
    "PATH": bin_directory + ":/usr/bin:/bin", "XDG_STATE_HOME": home + "/state",
    "XDG_CONFIG_HOME": home + "/config", "XDG_DATA_HOME": home + "/data",
    "XDG_CACHE_HOME": home + "/cache", "ANSWER": answer,
    "COLUMNS": "200",
}
VENDOR = {
    "bash": "/data/bash-completion/completions/smallweb.bash",
    "zsh": "/share/zsh/vendor-completions/_smallweb",
    "fish": "/share/fish/vendor_completions.d/smallweb.fish",
}
if is_lazy:
    os.makedirs(os.path.dirname(home + VENDOR[shell]))
    os.symlink(script, home + VENDOR[shell])
    environment["XDG_DATA_DIRS"] = home + "/share:/usr/share"
START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    # Without its own configuration it looks nowhere.
    "fish": ["fish", "-i"] if is_lazy else ["fish", "--no-config", "-i"],
}
SETUP = {
    "bash": [
        "bind 'set bell-style none'", "bind 'set enable-bracketed-paste off'",
        "bind 'set completion-query-items 0'", "bind 'set page-completions off'",
        "bind -x '\"\\C-xp\": printf \"%s\\n\" \"$READLINE_LINE\" >\"$ANSWER.new\"; "
        "mv \"$ANSWER.new\" \"$ANSWER\"'",
    ],
    "zsh": [
        "fpath=(%s/share/zsh/vendor-completions $fpath)" % home,
        "autoload -Uz compinit; compinit -u -D; unsetopt beep",
        "answer() { print -r -- \"$BUFFER\" >$ANSWER.new; mv $ANSWER.new $ANSWER }",
        "zle -N answer; bindkey '^Xp' answer; bindkey '^U' kill-whole-line",
    ],
    "fish": [
        "set -g fish_greeting; set -g fish_autosuggestion_enabled 0",
        "bind \\cxp 'commandline >$ANSWER.new; mv $ANSWER.new $ANSWER'",
    ],
}

process, terminal = pty.fork()
if process == 0:
    os.chdir(home + "/files")
    os.execvpe(START[shell][0], START[shell], environment)

shown = b""


def read_until(is_done, seconds=120):
    """Reads what the shell shows until it is done, which it must be in time."""
    global shown
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_done():
            return True
        if select.select([terminal], [], [], 0.02)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:
                return is_done()
    return False


def send(text):
    os.write(terminal, text.encode())


def line_after(keys):
    """The command line after the keys."""
    if os.path.exists(answer):
        os.unlink(answer)
    # The question waits in the terminal until the shell has done with the keys before it.
    send(keys + "\x18p")
    if not read_until(lambda: os.path.exists(answer)):
        return "(no answer; shown: %r)" % shown[-300:]
    with open(answer) as file:
        return file.read().rstrip("\n")


def run(command):
    done = home + "/done"
    send(command + "; echo >" + done + "\r")
    read_until(lambda: os.path.exists(done))
    if os.path.exists(done):
        os.unlink(done)
    else:
        sys.exit("%s does not run: %s\n%r" % (shell, command, shown[-500:]))


for command in SETUP[shell]:
    run(command)
if not is_lazy:
    run("source " + script)
elif shell == "bash":
    run("source /usr/share/bash-completion/bash_completion")

ANY = None
# What is typed, the line after TAB, and candidates that a second TAB shows.
CASES = [
    ("smallweb hel", "smallweb help ", []),
    ("smallweb get --max-f", "smallweb get --max-filesize ", []),
    ("smallweb get --color al", "smallweb get --color always ", []),
    ("smallweb get --color=al", "smallweb get --color=always ", []),
    ("smallweb get --fields url,stat", "smallweb get --fields url,status ", []),
    ("smallweb get --body=ba", "smallweb get --body=base64 ", []),
    ("smallweb get --only=timeout,conn", "smallweb get --only=timeout,connect ", []),
    ("smallweb get --identity al", "smallweb get --identity alice ", []),
    ("smallweb trust show pi", "smallweb trust show pinned.example ", []),
    ("smallweb trust import no", "smallweb trust import notes.gmi ", []),
    ("smallweb get gem", "smallweb get gemini://", []),
    ("smallweb gem", "smallweb gemini://", []),
    ("smallweb get gemini:", "smallweb get gemini://", []),
    ("smallweb get gemini://pi", "smallweb get gemini://pinned.example/", []),
    ("smallweb get gemini://ge", "smallweb get gemini://gem.example/", []),
    ("smallweb get gemini://gem.example/d", "smallweb get gemini://gem.example/docs/", []),
    ("smallweb get gemini://gem.example/docs/", ANY, ["faq.gmi", "guide.gmi"]),
    ("smallweb get gemini://gem.example/docs/f",
     "smallweb get gemini://gem.example/docs/faq.gmi ", []),
    ("smallweb get pinn", "smallweb get gemini://pinned.example/", []),
    ("smallweb put ti", "smallweb put titan://", []),
    ("smallweb put pinn", "smallweb put titan://pinned.example/", []),
    ("smallweb get tit", "smallweb get tit", []),
    ("smallweb trust expi", "smallweb trust expiring ", []),
    ("smallweb identity ", ANY, {
        "zsh": ["new     -- make one", "export  -- print its"], "fish": ["make one, and bind it"],
    }.get(shell, ["export", "unuse"])),
    ("smallweb get hole", "smallweb get gopher://hole.example/", []),
    ("smallweb get finger://alice@us", "smallweb get finger://alice@users.example ", []),
    ("true; smallweb get gopher://hole.example/0/ab",
     "true; smallweb get gopher://hole.example/0/about ", []),
    ("smallweb get -o no", "smallweb get -o notes.gmi ", []),
    ("smallweb get --output=no", "smallweb get --output=notes.gmi ", []),
    ("smallweb get -d @no", "smallweb get -d @notes.gmi ", []),
    ("smallweb get --output-dir m", "smallweb get --output-dir many/", []),
    ("smallweb get -o two", "smallweb get -o two\\ words.txt ", []),
    ("smallweb completions z", "smallweb completions zsh ", []),
    ("X=y smallweb get gopher://hole.example/0/ab" if shell != "fish" else
     "env X=y true; smallweb get gopher://hole.example/0/ab",
     ("X=y " if shell != "fish" else "env X=y true; ")
     + "smallweb get gopher://hole.example/0/about ", []),
    ('smallweb get "gemini://gem.example/docs/f',
     'smallweb get "gemini://gem.example/docs/faq.gmi" ', []),
    ("smallweb get 'gopher://hole.example/0/ab",
     "smallweb get 'gopher://hole.example/0/about' ", []),
]
QUERY = {
    "bash": "smallweb get https://search.example/\\?q=a\\&b=c ",
    "zsh": "smallweb get https://search.example/\\?q=a\\&b=c ",
    # & is an ordinary character within a word of fish, and ? from version 4 on.
    "fish": "smallweb get https://search.example/\\?q=a\\&b=c ",
}
if shell == "fish":
    version = subprocess.run(["fish", "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.split()[-1].split(".")[0]) >= 4:
        QUERY["fish"] = QUERY["fish"].replace("\\?", "?")
CASES.append(("smallweb get https://search.example/", QUERY[shell], []))
# Fish 3 takes ? for a wildcard, even after a quote that is still open.
CASES.append(
    ("smallweb get git://repo.example/r.git//a.md\\?ref=v",
     "smallweb get git://repo.example/r.git//a.md\\?ref=v1.0 ", []) if shell == "fish" else
    ("smallweb get 'git://repo.example/r.git//a.md?ref=v",
     "smallweb get 'git://repo.example/r.git//a.md?ref=v1.0' ", []))

failed = 0
for typed, expected, candidates in CASES:
    shown = b""
    # Some setups of bash quote an @ in what they take for a file's name; it means the same.
    line = line_after(typed + "\t").replace("\\@", "@")
    problems = []
    if expected is not ANY and line.rstrip(" ") != expected.rstrip(" "):
        problems.append("the line is %r, not %r" % (line, expected))
    elif expected is not ANY and shell != "fish" and line != expected:
        problems.append("the line is %r, not %r" % (line, expected))
    if candidates:
        send("\t\t")
        # A shell may answer before it has drawn its list.
        read_until(lambda: all(text.encode() in shown for text in candidates))
        line_after("")
        problems += [
            "no %r in the list" % text for text in candidates if text.encode() not in shown]
    line_after("\x15")
    print("%s - %s%s: %s" % (
        "not ok" if problems else "ok", shell, " (lazy)" if is_lazy else "", typed))
    for problem in problems:
        print("    " + problem)
    failed += bool(problems)

os.kill(process, 9)
os.waitpid(process, 0)
for directory, _, names in os.walk(home, topdown=False):
    for name in names:
        os.unlink(directory + "/" + name)
    os.rmdir(directory)
sys.exit(1 if failed else 0)
