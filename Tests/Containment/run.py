#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attacks the containment of plugins that are programs, of the release binary, in every mode.

usage: run.py SMALLWEB [--mode NAME]… [--only TEXT]… [--verbose] [--table | --check FILE]

--mode chooses among those of expected.py, --only exchanges by a part of their names. --verbose
prints what became of every attempt, --table what could be done as Markdown; --check compares that
with the table in FILE.
"""

import argparse
import contextlib
import ctypes
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import expected
from doors import DOORS, Doors, INSIDE, opening, redirect
from scene import MEMORY_BYTES, Scene, wait_for

HERE = pathlib.Path(__file__).parent
GROUPS = ["contents", "metadata", "names", "sights", "looks", "descriptors", "sockets", "signals",
          "processes", "objects", "kernel", "reads", "connections", "own"]
MEMORY = ["private", "shared", "pipes", "memfd",
          # Memory that no page of a process shows: see attack/holds.c.
          "torn", "torn-zero", "torn-large", "tables", "mappings", "usual-sockets", "large-sockets",
          "empty-sockets",
          "usual-pipes", "sent-pages", "locks", "watches", "half-read", "rulesets", "listeners",
          "headless", "slots", "orphans"]
SPACE = ["files", "unlinked", "small-files", "directories", "fallocate", "fallocate-beyond",
         "mapped-files", "thread-files", "unreadable"]
# Those that are also looked at from outside; with many names that would slow them down.
SEEN_OUTSIDE = ["private", "shared", "files", "fallocate", "fallocate-beyond"]
MACHINE = {"looks/boot": "/proc/sys/kernel/random/boot_id", "looks/modules": "/proc/modules",
           "looks/devices": "/proc/partitions"}
# A kernel may lack a file, and then nobody can read it.
LACKING = {name for name, path in MACHINE.items() if not os.path.exists(path)}
SMALL_ONES = ["small-files", "directories"]
CHAINS = ["chains", "fast-chains", "left-chains"]
# A chain would be over by itself after twelve, and is given three.
CHAIN_SECONDS_MAX = 11
# Of an exchange: what takes longer hangs. A bomb takes the processors from all others.
SECONDS_MAX = 120
BOMB_SECONDS_MAX = 60
PROCESSES_MAX = 64
# What may be taken before it is seen, beside what 50 ms of taking give.
SLACK_BYTES = 32 << 20
ATTEMPTS = 3
BOMB_PROCESSES = 400
SWAPS = 60

options = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
options.add_argument("smallweb", type=os.path.realpath)
options.add_argument("--mode", action="append", choices=list(expected.MODES))
options.add_argument("--only", action="append", default=[])
options.add_argument("--table", action="store_true")
options.add_argument("--verbose", action="store_true")
options.add_argument("--check")
options = options.parse_args()

is_root = os.geteuid() == 0
# One that has no other processes, so that all of its processes are ours.
test_user = 64000 + os.getpid() % 1000 if is_root else os.geteuid()
secret = "s3cret" + secrets.token_hex(8)
counts = {"passed": 0, "failed": 0, "skipped": 0}
out = sys.stderr if options.table else sys.stdout


def check(mode, name, problems):
    counts["failed" if problems else "passed"] += 1
    if problems:
        print(f"not ok - {mode}: {name}: {'; '.join(problems)}", file=out)
    else:
        print(f"ok - {mode}: {name}", file=out)


def skip(name, reason):
    counts["skipped"] += 1
    print(f"skipped - {name}: {reason}", file=out)


def wants(name):
    return not options.only or any(text in name for text in options.only)


# MARK: Exchanges

class Exchange:
    """One run of smallweb with the program."""

    def __init__(self, mode, name, words=(), limit=None, group=None, preload=None, **more):
        self.mode, self.name, self.scene = mode, name, mode.scene
        self.peak, self.is_hung = 0, False
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": self.scene.home,
            "XDG_DATA_HOME": self.scene.data, "XDG_CONFIG_HOME": self.scene.top / "config",
            "TMPDIR": self.scene.tmp, "ALL_PROXY": f"http://user:{secret}@127.0.0.1:9"}
        lacking, _, before = expected.MODES[mode.name]
        words = list(words) or ["get", f"attack://host/{name}"]
        if words[0] == "get":
            # One after the other, unless the exchange itself says how many.
            words[1:1] = ["-j", "1"] * ("-j" not in words) + ["attack://host/first"] * before
        command = [*mode.prefix, mode.without, *lacking, "--", mode.smallweb, *words, "--plugin",
                   self.scene.folder,
                   "--known-hosts", self.scene.known_hosts, *(["-m", str(limit)] if limit else [])]
        if "say" in more:
            del environment["ALL_PROXY"]
        if preload:
            environment["LD_PRELOAD"] = preload
        (self.scene.folder / "threads").unlink(missing_ok=True)

        def prepare():
            if group:
                pathlib.Path(group, "cgroup.procs").write_text("0")
            self.scene.targets(os.getpid(), dedicated=int(is_root), bomb=int(bool(group)), **more)

        start = time.monotonic()
        with tempfile.TemporaryFile() as body, tempfile.TemporaryFile() as errors:
            self.process = subprocess.Popen(
                command, env=environment, cwd=self.scene.top, stdin=subprocess.DEVNULL,
                stdout=body, stderr=errors, preexec_fn=prepare, start_new_session=True)
            self.watch(start + (BOMB_SECONDS_MAX if group else SECONDS_MAX))
            self.seconds = time.monotonic() - start
            self.status = self.process.returncode
            self.leftovers = members(group) if group else mode.leftovers()
            body.seek(0)
            errors.seek(0)
            self.body, self.errors = body.read(), errors.read().decode(errors="replace")
        self.claimed = sum(map(int, re.findall(rb"(?m)^\+(\d+)$", self.body)))

    def watch(self, end):
        is_bound = self.name in SEEN_OUTSIDE
        while self.process.poll() is None:
            if time.monotonic() > end:
                self.is_hung = True
                os.kill(self.process.pid, signal.SIGKILL)
            if self.name == "signals":
                self.tell_threads()
            if is_bound:
                self.peak = max(self.peak, self.taken())
            time.sleep(0.005)

    def tell_threads(self):
        """The threads of smallweb, once it has started some."""
        path = self.scene.folder / "threads"
        with contextlib.suppress(OSError):
            if not path.exists() and self.mode.processes_of(self.scene.comm):
                numbers = os.listdir(f"/proc/{self.process.pid}/task")
                half = path.with_suffix(".half")
                half.write_text(" ".join(numbers))
                half.rename(path)

    def taken(self):
        """Memory of the program and its children, and what TMPDIR has, as seen from outside."""
        total = 0
        for pid in self.mode.processes_of(self.scene.comm):
            with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/status") as file:
                total += sum(int(line.split()[1]) * 1024 for line in file
                             if line.startswith(("RssAnon:", "RssShmem:")))
        if self.name in SPACE:
            for directory, _, files in os.walk(self.scene.tmp):
                for name in files:
                    with contextlib.suppress(OSError):
                        total += os.lstat(os.path.join(directory, name)).st_blocks * 512
        return total

    def problems(self):
        """What holds after each exchange, whatever it was."""
        found = []
        if self.is_hung:
            found.append(f"it was still there after {self.seconds:.0f} s")
        if self.leftovers:
            found.append(f"processes are left: {', '.join(self.leftovers)}")
        left = [str(path.relative_to(self.scene.tmp)) for path in self.scene.tmp.rglob("*")]
        if left:
            found.append(f"{len(left)} files are left in TMPDIR: {', '.join(left[:3])}")
            shutil.rmtree(self.scene.tmp)
            self.scene.tmp.mkdir()
            os.chown(self.scene.tmp, self.scene.user, self.scene.user)
        return found


class Mode:
    """All exchanges in one mode; `results` says of each attempt whether it worked."""

    def __init__(self, name, work, smallweb, programs):
        self.name, self.results, self.errors = name, {}, {}
        self.smallweb, self.without, self.pages = smallweb, programs["without"], programs["pages"]
        runs_as_root = expected.MODES[name][1]
        user = 0 if runs_as_root else test_user
        self.prefix = [] if user == os.geteuid() else [
            "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        top = pathlib.Path(work, name.replace(" ", "-"))
        self.scene = Scene(top, programs["attack"], user, secret, self.prefix)

    def processes_of(self, comm):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as file:
                if file.read().strip() == comm and int(pid) != self.scene.victim.pid:
                    found.append(int(pid))
        return found

    def leftovers(self):
        """What smallweb left has become a child of this process; it is killed."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
                start, rest = file.read().rsplit(")", 1)
                state, parent = rest.split()[:2]
                if int(parent) != os.getpid() or int(pid) == self.scene.victim.pid:
                    continue
                if state != "Z":
                    found.append(f"{start.split('(', 1)[1]} ({pid})")
                    os.kill(int(pid), signal.SIGKILL)
                os.waitpid(int(pid), os.WNOHANG)
        for pid in self.processes_of(self.scene.comm) if found else []:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return found

    def run(self):
        self.scene.open()
        try:
            for name in filter(wants, GROUPS):
                self.attempt(name)
            for name in filter(wants, MEMORY + SPACE):
                self.bound(name)
            for name in filter(wants, CHAINS):
                self.chain(name)
            if wants("few-pipes"):
                self.few_pipes()
            if wants("forks"):
                self.forks()
            if wants("kill"):
                self.kill()
            if wants("bomb"):
                self.bomb()
            if wants("own"):
                self.scene.reads_more = [self.scene.tmp]
                self.scene.write_manifest(MEMORY_BYTES)
                self.attempt("own")
                self.scene.reads_more = []
                self.scene.write_manifest(MEMORY_BYTES)
            if wants("swapped"):
                self.swapped()
            if wants("doors"):
                self.doors()
            if wants("plugins"):
                self.plugins()
            if wants("alone"):
                self.alone()
        finally:
            self.scene.close()
            self.leftovers()

    def judge(self, name, worked, detail=""):
        """One attempt: whether it may have worked in this mode, or must have."""
        self.results[name] = worked
        if options.verbose:
            print(f"{self.name}: {name}: {'worked' if worked else 'refused'}{detail}", file=out)
        allowed = expected.is_allowed(name, self.name)
        problems = []
        if worked and not allowed:
            problems = [f"it worked{detail}"]
        elif expected.is_needed(name, self.name) and not worked:
            problems = [f"it was refused{detail}"]
        check(self.name, name, problems)

    # MARK: Attempts

    def attempt(self, group):
        words = []
        if group == "looks":
            words = ["get", "-j", "2", "--per-host", "2", f"attack://user:{secret}@host/nothing",
                     f"attack://host/{group}"]
        if group == "descriptors":
            words = ["put", f"attack://host/{group}", self.scene.config]
        files, state, objects = self.scene.files(), self.scene.state_of_victim(), self.scene.look()
        own = self.scene.own_objects()
        exchange = Exchange(self, group, words)
        changed = self.scene.changed(files)
        worked = (self.scene.arrived | self.scene.signals() | changed
                  | self.scene.take_from_pipe())
        said = self.parse(exchange.body)
        for name in self.scene.attempts:
            if not name.startswith(group + "/") or name in LACKING:
                continue
            if name not in said:
                check(self.name, name, ["it was not tried"])
                continue
            result, number, text = said[name]
            is_through = result == "done" and group != "descriptors" or name in worked
            # There only a secret counts, but for what has none.
            if group == "looks" and name not in ["looks/numbers", "looks/descriptors",
                                                 "looks/shadow", *MACHINE]:
                is_through = secret.encode() in text
            if group == "reads":
                is_through = secret.encode() in text or name in worked
            how = f" ({result} {number}{', seen from outside' if name in worked else ''})"
            self.judge(name, is_through, how)
        problems = exchange.problems()
        if b"\n@ end\n" not in exchange.body:
            problems.append(f"it did not come to its end: status {exchange.status},"
                            f" {exchange.errors.strip()[-300:]}")
        is_explained = any(worked for name, worked in self.results.items()
                           if name.startswith(group + "/"))
        others = [name for name in changed if name not in said]
        if others:
            problems.append(f"changed: {', '.join(sorted(others)[:5])}")
        after = self.scene.state_of_victim()
        differences = [name for name in state if state[name] != after.get(name)]
        if differences and not is_explained:
            problems.append(f"the victim has another {', '.join(differences)}")
        if self.scene.look() != objects and not is_explained:
            problems.append("objects of IPC were changed")
        if self.scene.own_objects() - own:
            self.judge("left/objects", True)
        check(self.name, f"after {group}", problems)

    @staticmethod
    def parse(body):
        """For each attempt what became of it, errno or signal, and what was printed before."""
        said, start = {}, 0
        for line in re.finditer(rb"\n@ (\S+) (done|refused|killed|untried) (\d+)\n", body):
            said[line[1].decode()] = (line[2].decode(), int(line[3]), body[start:line.start()])
            start = line.end()
        return said

    # MARK: Doors

    def swapped(self):
        """A directory above one that it may read becomes a link, and none again, all the time."""
        swapped = self.scene.swapped.parent.parent
        link = self.scene.top / "swapping"
        link.symlink_to("beside")
        libc, is_over = ctypes.CDLL(None), threading.Event()

        def swap():
            while not is_over.is_set():
                # RENAME_EXCHANGE
                libc.renameat2(-100, os.fsencode(swapped), -100, os.fsencode(link), 2)

        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            exchanges = [Exchange(self, "swapped") for _ in range(SWAPS)]
        finally:
            is_over.set()
            swapper.join()
        if swapped.is_symlink():
            libc.renameat2(-100, os.fsencode(swapped), -100, os.fsencode(link), 2)
        link.unlink()
        bodies = [exchange.body for exchange in exchanges]
        # Both must have been seen, or nothing was tried.
        refused = sum(b"is a link" in exchange.errors.encode() for exchange in exchanges)
        shown = sum(b"inside" in body for body in bodies)
        found = sum(secret.encode() in body for body in bodies)
        self.judge("reads/swapped", found > 0,
                   f": {found} times, and {shown} times it was no link")
        check(self.name, "after swapped", ([] if refused and shown else [
            f"it was refused {refused} times, shown {shown} times"]) + exchanges[-1].problems())

    def doors(self):
        """Each attempt has an exchange of its own, since what is not allowed is its end."""
        doors = Doors(is_root)
        doors.run(lambda: self.through(doors))
        if not doors.has_network:
            skip(f"{self.name}: inside", "needs root, for addresses of the internet")

    def through(self, doors):
        attempts = [("own/open", False, "say", opening("tcp://127.0.0.1:ALLOWED")),
                    *(("doors/" + name, False, "say", said) for name, said in DOORS.items())]
        if doors.has_network:
            attempts += [("own/redirect", False, "say",
                          redirect("attacks://127.0.0.1:ALLOWED/greet"))]
            attempts += [("inside/" + name, True, path, said)
                         for name, (path, said) in INSIDE.items()]
        for name, is_far, path, said in attempts:
            self.scene.opens = doors.opens(is_far)
            self.scene.write_manifest(MEMORY_BYTES)
            events = {word: doors.filled(event, self.scene.sockets) for word, event in said.items()}
            exchange = Exchange(self, "say", ["get", doors.url(is_far, path)], 20, **events)
            found = doors.take()
            self.judge(name, bool(found),
                       f": {', '.join(sorted(found)) or 'nothing'} was reached, status"
                       f" {exchange.status} {exchange.errors.strip()[-200:]}")
            check(self.name, f"after {name}", exchange.problems())
        self.scene.opens = []
        self.scene.write_manifest(MEMORY_BYTES)

    # MARK: Bounds

    def bound(self, name):
        # Many files take long to make, and to remove.
        bound = MEMORY_BYTES // 4 if name in SMALL_ONES else MEMORY_BYTES
        # What adds it up every 10 ms may have to wait for the processor, but hardly each time.
        problems = []
        for _ in range(ATTEMPTS):
            self.scene.write_manifest(bound)
            exchange = Exchange(self, name)
            self.scene.write_manifest(MEMORY_BYTES)
            memory, disk = map(int, self.scene.outside("speed", self.scene.tmp).stdout.split())
            # Those that take memory have processes; the others are slowed down by names and blocks.
            speed = {"files": disk, "unlinked": disk}.get(name, 0)
            if name in MEMORY:
                speed = memory * min(os.cpu_count() or 1, 4)
            most = bound + SLACK_BYTES + int(0.05 * speed)
            taken = max(exchange.claimed, exchange.peak)
            problems += exchange.problems()
            if taken <= most:
                break
        self.judge(f"bounds/{name}", taken > most,
                   f": {taken >> 20} MiB of {most >> 20}, status {exchange.status},"
                   f" {exchange.seconds:.1f} s")
        check(self.name, f"after {name}", problems)

    def few_pipes(self):
        """A pipe holds 16 pages: 96 of them are much where smallweb is told of pages of 64 KiB."""
        for size, preload in [(os.sysconf("SC_PAGESIZE"), None), (65536, self.pages)]:
            exchange = Exchange(self, "few-pipes", preload=preload)
            is_ended = b"@ end\n" not in exchange.body
            is_much = 96 * 16 * size > MEMORY_BYTES
            check(self.name, f"few-pipes with pages of {size >> 10} KiB",
                  exchange.problems() + ([] if is_ended == is_much else [
                      f"status {exchange.status} {exchange.errors.strip()[-200:]}"]))

    def forks(self):
        exchange = Exchange(self, "forks")
        self.judge("bounds/forks", exchange.claimed > PROCESSES_MAX, f": {exchange.claimed}")
        check(self.name, "after forks", exchange.problems())

    def chain(self, name):
        exchange = Exchange(self, name, limit=3)
        is_late = exchange.seconds > CHAIN_SECONDS_MAX
        self.judge(f"bounds/{name}", is_late or bool(exchange.leftovers),
                   f": {exchange.seconds:.1f} s")
        check(self.name, f"after {name}", exchange.problems())

    def plugins(self):
        """Those that come along and those of the documents pass their own tests in every mode."""
        for folder in [path.parent for place in ["Plugins", "docs/examples/plugins"]
                       for path in sorted((HERE / "../.." / place).glob("*/plugin.json"))]:
            copy = self.scene.top / "plugins" / folder.name
            shutil.copytree(folder, copy)
            for path in [copy, *copy.rglob("*")]:
                path.chmod(path.stat().st_mode & ~0o022)
                os.chown(path, self.scene.user, self.scene.user)
            tested = subprocess.run(
                [*self.prefix, self.without, *expected.MODES[self.name][0], "--", self.smallweb,
                 "plugin", "test", copy],
                env={"PATH": "/usr/bin:/bin", "HOME": self.scene.home, "TMPDIR": self.scene.tmp},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            is_right = tested.returncode == 0 and "ok " in tested.stdout
            check(self.name, f"plugins/{folder.name}",
                  [] if is_right else [f"status {tested.returncode}: {tested.stdout[-300:]}"])

    def alone(self):
        """A plugin in one file has itself, and nothing of what lies next to it."""
        for place in ["home", "other"]:
            folder = self.scene.places[place]
            script, beside, new = folder / "alone.sh", folder / "beside", folder / "new"
            beside.write_text(f"{secret}\n")
            script.write_text(
                '#!/bin/sh\n# smallweb: {"scheme": "alone", "port": 0, "transport": "none"}\n'
                f"(cat '{beside}'; ls '{folder}'; cat ./*; echo >'{new}'; echo >>'{script}') >&4\n"
                f"grep -c 'smallweb:' '{script}' >&4\n")
            for path in [script, beside]:
                path.chmod(0o755)
                os.chown(path, self.scene.user, self.scene.user)
            before = script.read_bytes()
            # The last of three, as the others start what starts it.
            lacking, _, others = expected.MODES[self.name]
            tried = subprocess.run(
                [*self.prefix, self.without, *lacking, "--", self.smallweb, "get", "-j", "1",
                 *["alone://h/"] * (others + 1), "--plugin", script],
                env={"PATH": "/usr/bin:/bin", "HOME": self.scene.home, "TMPDIR": self.scene.tmp},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.judge(f"alone/read@{place}", secret in tried.stdout or "beside" in tried.stdout)
            self.judge(f"alone/write@{place}", new.exists() or script.read_bytes() != before)
            runs = tried.stdout.splitlines().count("2")
            check(self.name, f"after alone@{place}", [] if runs == others + 1 else [
                f"it ran {runs} times: status {tried.returncode}: {tried.stderr[-300:]}"])

    def kill(self):
        exchange = Exchange(self, "kill", limit=20)
        is_whole = exchange.status == 0 and b"@ end\n" in exchange.body
        self.judge("bounds/kill", not is_whole or self.scene.victim.poll() is not None,
                   f": status {exchange.status} {exchange.errors.strip()[-200:]}")
        check(self.name, "after kill", exchange.problems())

    def bomb(self):
        """Never without a group that has a bound: it would take the whole machine."""
        group = bounded_group()
        if not group:
            skip(f"{self.name}: bomb", "there is no cgroup with a bound for it")
            return
        try:
            exchange = Exchange(self, "bomb", limit=3, group=group)
        finally:
            end_group(group)
        self.judge("bounds/bomb", exchange.is_hung or bool(exchange.leftovers),
                   f": {exchange.seconds:.1f} s, {len(exchange.leftovers)} processes left")
        exchange.leftovers = []
        check(self.name, "after bomb", exchange.problems())


# MARK: A cgroup

def bounded_group():
    """A new cgroup in which at most BOMB_PROCESSES can be, or None."""
    for top in ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"]:
        group = pathlib.Path(top, f"smallweb-attack-{os.getpid()}")
        try:
            group.mkdir()
        except OSError:
            continue
        bound = group / "pids.max"
        with contextlib.suppress(OSError):
            bound.write_text(str(BOMB_PROCESSES))
            if bound.read_text().strip() == str(BOMB_PROCESSES) and os.access(
                    group / "cgroup.procs", os.W_OK):
                return group
        group.rmdir()
    return None


def members(group):
    try:
        return (group / "cgroup.procs").read_text().split()
    except OSError:
        return []


def end_group(group):
    # No new ones; then all can be killed.
    (group / "pids.max").write_text("0")

    def is_empty():
        for pid in members(group):
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(-1, os.WNOHANG)
        with contextlib.suppress(OSError):
            group.rmdir()
        return not group.exists()

    wait_for(is_empty, 20)


# MARK: All modes

def compiler():
    """A machine that builds Swift may have no other than the one that came with it."""
    swift = os.path.realpath(shutil.which("swift") or "swift")
    for name in ["cc", "clang", os.path.join(os.path.dirname(swift), "clang")]:
        if shutil.which(name):
            return name
    sys.exit("no compiler for C: install gcc, or put Swift's clang on PATH")


def build(work):
    programs = {}
    for name, sources in [("attack", sorted((HERE / "attack").glob("*.c"))),
                          ("without", [HERE / "without.c"]), ("pages", [HERE / "pages.c"])]:
        programs[name] = pathlib.Path(work, name)
        command = [compiler(), "-O1", "-Wall", "-Wextra", "-Werror", "-o", programs[name], *sources]
        if name == "pages":
            subprocess.run([*command, "-shared", "-fPIC"], check=True)
        # It needs no files of a library then; not all machines have what that needs.
        elif subprocess.run([*command, "-static"], stderr=subprocess.DEVNULL).returncode != 0:
            subprocess.run(command, check=True)
    return programs


def missing(programs):
    """What this kernel lacks of what the modes are about."""
    prefix = ["setpriv", f"--reuid={test_user}", f"--regid={test_user}", "--clear-groups"]
    users = subprocess.run([*(prefix if is_root else []), "unshare", "-U", "true"],
                           stderr=subprocess.DEVNULL)
    libc = ctypes.CDLL(None)
    version = libc.syscall(444, None, 0, 1)
    return (["user namespaces"] if users.returncode else []) + (["Landlock"] if version < 1 else [])


def check_table(results, lacking):
    reason = f"this kernel has no {' and no '.join(lacking)}" if lacking else (
        "not all modes were tried" if len(results) < len(expected.MODES) else "")
    if reason:
        skip("the table", reason)
        return
    text = expected.table(results)
    with open(options.check) as file:
        found = re.search(r"<!-- containment -->\n+(.*?)\n*<!-- /containment -->", file.read(),
                          re.DOTALL)
    is_same = found and found[1].split("\n") == text.strip().split("\n")
    check("all", options.check, [] if is_same else ["its table is another; run --table"])


def main():
    # smallweb refuses programs that others can change.
    os.umask(0o022)
    # What loses its parent becomes a child of this process, where it is found.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    work = tempfile.mkdtemp(prefix="smallweb-containment.")
    os.chmod(work, 0o755)
    try:
        programs = build(work)
        smallweb = shutil.copy(options.smallweb, work)
        lacking = missing(programs)
        results = {}
        for name, (_, runs_as_root, _) in expected.MODES.items():
            if options.mode and name not in options.mode:
                continue
            if not is_root and runs_as_root:
                skip(name, "needs root")
                continue
            before, start = dict(counts), time.monotonic()
            mode = Mode(name, work, smallweb, programs)
            mode.run()
            results[name] = mode.results
            worked = sum(mode.results.values())
            print(f"{name}: {len(mode.results)} attempts, {worked} worked;"
                  f" {counts['failed'] - before['failed']} should not have,"
                  f" {time.monotonic() - start:.0f} s", file=out, flush=True)
        if options.table:
            print(expected.table(results), end="")
        if options.check:
            check_table(results, lacking)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()), file=out)
    return 1 if counts["failed"] else 0


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
sys.exit(main())
