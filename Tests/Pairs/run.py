#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries all pairs of options of each command that fetches.

usage: run.py SMALLWEB LOOPBACK [COMMAND…]

Each pair is run as one, the other, and both. Both must have an effect, or one overrides the other
by a row of OptionTable+Rules.swift, or they are refused with both names; anything else is silent,
and fails. Seen are standard output and error, the status, files, and what a server got. The scenes
are in table.py; an option that is neither there nor in its list of reasons fails, too.
"""

import collections
import concurrent.futures
import contextlib
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request

from table import COMMON, DECIDED, FAILS, OF_COMMANDS, SCENES, UNSHOWN, Scene

HERE = pathlib.Path(__file__).resolve().parent
OPTIONS = HERE.parents[1] / "Sources/SmallWebCLI/Options"
WEB = ("http://127.0.0.1:{web}/{run}/page", "http://127.0.0.1:{web}/{run}/moved",
       "http://127.0.0.1:{web}/{run}/gone", "http://127.0.0.1:{web}/{run}/busy",
       "http://127.0.0.1:{web}/{run}/empty")
CHANGING = ("http://127.0.0.1:{web}/{run}/changing", WEB[2], WEB[3], WEB[4])
GIT = ("git+http://127.0.0.1:{git}/demo.git",)
COMMANDS = {
    "get": WEB, "head": WEB, "links": WEB, "open": WEB[:1], "explain": WEB[1:2],
    "put": ("spartan://127.0.0.1:{spartan}/{run}/page", "page"),
    "feed": CHANGING, "watch": CHANGING, "refs": GIT, "log": GIT, "describe": GIT,
    "crawl": WEB[:2] + ("--per-host-delay", "0"),
}
# Options of which others have need.
NAMED = {"-o": "output", "-O": "remote-name"}
# Commands that compare with the last run are run twice.
TWICE = ("feed", "watch")
PATIENCE = 60
# Of files before a run, and the one that the server names: Fri, 20 Nov 2026 22:17:13 GMT.
OLD, OF_SERVER = 1000000000, 1795213033
TIMES = (rb'("(?:start|queue|namelookup|connect|proxy|appconnect|pretransfer|starttransfer|redirect'
         rb'|total|seconds|sent|received|requests|per_second|[a-z]+_ms)":)[0-9.e-]+(?=[,}])')
VARYING = [
    (TIMES, rb"\1N"), (rb"\d{4}-\d\d-\d\dT[0-9:.]+Z?", b"DATE"),
    (rb"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", b"DATE"),
    (rb"(?i)(date|server): [^\r\n]*", b""), (rb"[0-9.]+ ?m?s\b", b"TIME"),
    (rb"urn:uuid:[0-9a-f-]+", b"UUID"), (rb"(127\.0\.0\.1|port)([: \"]+)\d+", rb"\1\2PORT"),
    (rb"r\d{6}", b"rNNNNNN"), (rb"sha\d+:[0-9A-Za-z]+|\b[0-9a-f]{64}\b", b"DIGEST"),
]


def masked(data):
    for pattern, text in VARYING:
        data = re.sub(pattern, text, data)
    return data


def overrides():
    """Pairs of options that a row declares, and all rows with the names of both."""
    ids = (OPTIONS / "Option.swift").read_text().split("enum ID:")[1].split("\n    }\n")[0]
    names = {}
    for word, text in re.findall(r"`?(\w+)`?(?: = \"([^\"]+)\")?(?=[,\n])", ids):
        names[word] = text or word
    rules = (OPTIONS / "Table/OptionTable+Rules.swift").read_text()
    files = re.search(r"files: \[Option.ID\] = (\[[^\]]*\])", rules)[1]
    rules = rules.replace("overrides, files", "overrides, " + files)
    found = set()
    for one, others in re.findall(
            r"Rule\(\s*\.overrides,\s*\[([^\]]*)\](?:,\s*\[([^\]]*)\])?", rules):
        def listed(text):
            return [names[word] for word in re.findall(r"\.(\w+)", text)]
        pairs = itertools.product(listed(one), listed(others)) if others else \
            itertools.combinations(listed(one), 2)
        found |= {frozenset(pair) for pair in pairs}
    return found


class Runner:
    def __init__(self, smallweb, folder, places):
        self.smallweb, self.folder, self.places = smallweb, folder, places
        self.count, self.lock = itertools.count(100000), threading.Lock()
        self.futures = {}
        self.pool = concurrent.futures.ThreadPoolExecutor(3)

    def result(self, command, words):
        key = (command, tuple(words))
        if key not in self.futures:
            self.futures[key] = self.pool.submit(self.run, *key)
        return self.futures[key]

    def run(self, command, words):
        run = f"r{next(self.count)}"
        places = self.places | {"run": run}
        home = self.folder / run
        (home / "od").mkdir(parents=True)
        for name in ("page", "f", "od/page", "od/f"):
            (home / name).write_text("old")
            os.utime(home / name, (OLD, OLD))
        url = WEB[0].format(**places)
        listed = COMMANDS[command][0].format(**places).replace("page", "listed")
        (home / "urls").write_text(listed + "\n")
        (home / "etag").write_text('"abc"\n')
        (home / "conf").write_text("user-agent = configured\n")
        (home / "secret").write_text("user:word\n")
        (home / "empty.warc").write_text("")
        (home / "known").write_text('{"url":"%s","outcome":"ok"}\n' % url)
        (home / ".netrc").write_text("machine 127.0.0.1 login user password word\n")
        for name in ("secret", ".netrc"):
            (home / name).chmod(0o600)
        line = [self.smallweb, command] + [word.format(**places) for word in words]
        if command == "crawl" and not {"--state", "--name"} & set(line):
            line += ["--state", "state"]
        line += [word.format(**places) for word in COMMANDS[command]]
        environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PAGER": "cat",
                       "LANG": "C.UTF-8", "TMPDIR": str(self.folder)}
        ended = []
        for _ in range(2 if command in TWICE else 1):
            done = subprocess.run(line, cwd=home, env=environment, capture_output=True,
                                  timeout=PATIENCE, stdin=subprocess.DEVNULL)
            if done.returncode < 0:
                raise SystemExit(f"not ok - {line} died of signal {-done.returncode}")
            ended.append((done.returncode, masked(done.stdout), masked(done.stderr)))
        files = {}
        for path in sorted(home.rglob("*")):
            if path.is_file():
                stat = path.stat()
                moment = int(stat.st_mtime)
                files[str(path.relative_to(home))] = (
                    masked(path.read_bytes()), moment if moment in (OLD, OF_SERVER) else "now")
        shutil.rmtree(home)
        sent = urllib.request.urlopen(
            f"http://127.0.0.1:{places['web']}/log/{run}", timeout=PATIENCE).read()
        return ended, files, masked(sent)


def options_of(smallweb, command):
    text = subprocess.run([smallweb, "help", command], capture_output=True, text=True,
                          env={"HOME": "/nonexistent"}).stdout
    return re.findall(r"^ +(?:-., )?\s*--([a-z0-9-]+)", text, re.MULTILINE)


def scenes_of(command, names):
    found = {}
    for name in SCENES:
        option = name.split()[0]
        if option in names and option not in UNSHOWN:
            found[name] = OF_COMMANDS.get((command, name), SCENES[name])
    return found


def joined(*parts):
    """Needs of several options, each once."""
    seen, words = set(), []
    for part in parts:
        if part and part not in seen:
            seen.add(part)
            words += part
    return words


def is_silent(runner, command, needs, one, other):
    """True if it is so a second time: now and then a connection is used again, or is not."""
    plain, first, second, both = (runner.run(command, joined(tuple(needs), *words)) for words in (
        (), (one.words,), (other.words,), (one.words, other.words)))
    return both in (first, second) and plain not in (first, second)


def check(runner, command, names, rows):
    """Prints what is silent; returns how many pairs were tried, and how many failed."""
    scenes = scenes_of(command, names)
    usable = {}
    for name, scene in scenes.items():
        # A need that the command does not take.
        needed = [word[2:] for word in scene.needs if word.startswith("--")]
        can_name = "-O" not in scene.needs or "remote-name" in names
        if can_name and all(word in names for word in needed):
            usable[name] = scene
        elif "-O" in scene.needs and "output" in names:
            usable[name] = Scene(*scene.words, needs=("-o", "f"))
    base = runner.result(command, ())
    alone = {n: (runner.result(command, s.needs), runner.result(command, joined(s.needs, s.words)))
             for n, s in usable.items()}
    idle = [n for n, (without, with_it) in alone.items() if without.result() == with_it.result()]
    # An option of a plugin that is not for this command's question is refused by its name.
    refused = [n for n, (_, with_it) in alone.items() if with_it.result()[0][0][0] in (2, 3)
               and n not in idle and not with_it.result()[2]]
    shown = {n: s for n, s in usable.items() if n not in idle and n not in refused}
    tried = []
    for (one, a), (other, b) in itertools.combinations(shown.items(), 2):
        option, second = one.split()[0], other.split()[0]
        if option == second or command != "get" and {option, second} <= COMMON:
            continue
        needs = joined(a.needs, b.needs)
        first_needs_second = set(b.words) <= set(a.needs) or set(a.words) <= set(b.needs)
        if first_needs_second:
            continue
        runs = [runner.result(command, words) for words in (
            needs, joined(a.needs, b.needs, a.words), joined(a.needs, b.needs, b.words),
            joined(a.needs, b.needs, a.words, b.words))]
        tried.append((one, other, needs, runs))
    failures = 0
    counts = collections.Counter()
    decided = rows | set(map(frozenset, DECIDED))

    def stops(name):
        return shown[name].stops or (command, name) in FAILS

    for one, other, needs, runs in tried:
        plain, first, second, both = (run.result() for run in runs)
        status, errors = both[0][0][0], both[0][0][2].decode()
        pair = frozenset((one.split()[0], other.split()[0]))
        line = " ".join(needs + list(shown[one].words) + list(shown[other].words))
        if status == 2 and not both[2]:
            named = sum(f"--{name}" in errors for name in pair)
            counts["refused"] += 1
            if named < 2 and first[0][0][0] != 2 and second[0][0][0] != 2:
                failures += 1
                print(f"not ok - {command} {line}: refused without both names: {errors!r}")
        elif plain in (first, second) or 2 in (first[0][0][0], second[0][0][0]):
            counts["of a need"] += 1
        elif both == first and stops(one) or both == second and stops(other):
            counts["nothing is fetched"] += 1
        elif both not in (first, second):
            counts["both"] += 1
        elif pair in decided or any(frozenset((NAMED.get(need), name)) in decided
                                    for need in needs for name in pair):
            counts["overridden"] += 1
        elif is_silent(runner, command, needs, shown[one], shown[other]):
            failures += 1
            ignored = other if both == first else one
            print(f"not ok - {command} {line}: --{ignored} is ignored")
        else:
            counts["both"] += 1
    print(f"{'not ok' if failures else 'ok'} - {command}: {len(tried)} pairs of {len(shown)}"
          f" options, {dict(counts)}, {failures} silent; without effect: {', '.join(idle)};"
          f" refused alone: {', '.join(refused)}", flush=True)
    return failures, set(shown)


@contextlib.contextmanager
def servers(loopback, folder):
    own = subprocess.Popen([sys.executable, HERE / "server.py", folder / "socket"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    demo = subprocess.Popen([loopback, "--only", "http"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    try:
        web, other, spartan = own.stdout.readline().split()
        git = demo.stdout.readline().split()[2]
        yield {"web": web, "other": other, "spartan": spartan, "git": git,
               "unix": str(folder / "socket")}
    finally:
        for process in (own, demo):
            process.stdin.close()
            process.wait(PATIENCE)


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__.strip())
    smallweb, loopback = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    chosen = sys.argv[3:] or list(COMMANDS)
    failures, rows, shown, all_names = 0, overrides(), set(), set()
    with tempfile.TemporaryDirectory() as folder, \
            servers(loopback, pathlib.Path(folder)) as places:
        shard = subprocess.run([smallweb, "shard", "2"], capture_output=True, text=True,
                               input=f"http://127.0.0.1:{places['web']}/\n", check=True).stdout
        places["shard"] = "1" if shard.startswith("0") else "0"
        runner = Runner(smallweb, pathlib.Path(folder), places)
        for command in chosen:
            names = options_of(smallweb, command)
            all_names |= set(names)
            failed, effective = check(runner, command, names, rows)
            failures += failed
            shown |= {name.split()[0] for name in effective}
    for name in sorted(all_names - shown - set(UNSHOWN)):
        if len(chosen) == len(COMMANDS) or name not in SCENES:
            failures += 1
            print(f"not ok - --{name} has no scene in which it has an effect")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
