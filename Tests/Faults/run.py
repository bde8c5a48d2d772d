#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fails every system call of the release binary once, with each error that its manual names.

usage: run.py SMALLWEB SMALLWEB-LOOPBACK [--seconds N] [--seed N] [--jobs N] [--only TEXT]…
              [--case SYSCALL:ERROR:N]

Without --seconds everything is run; with it, a sample in random order, whose seed is printed. What
must hold whatever fails is in scenarios.py, which errors belong to which call in errors.py.
--only chooses scenarios by a part of their names, --case one injection; a failure prints both.
"""

import argparse
import collections
import concurrent.futures
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from errors import ERRORS, INVISIBLE, SKIPPED, SYSTEM_FILE, errors_of
from scenarios import scenarios
from servers import Loopback, Titan, certificate

# A run takes a tenth of a second; what waits this long waits for ever.
SECONDS_MAX = 20

options = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
options.add_argument("smallweb", type=os.path.realpath)
options.add_argument("loopback", type=os.path.realpath)
options.add_argument("--seconds", type=float)
options.add_argument("--seed", type=int, default=int(time.time()))
options.add_argument("--jobs", type=int, default=os.cpu_count())
options.add_argument("--only", action="append", default=[])
options.add_argument("--case")
options = options.parse_args()

work = tempfile.mkdtemp(prefix="smallweb-faults.")


class Case:
    """One run of a scenario, with one fault or none."""

    counter = 0
    lock = threading.Lock()

    def __init__(self, scenario, fault=None):
        with Case.lock:
            Case.counter += 1
            self.name = f"case-{Case.counter}"
        self.scenario, self.fault = scenario, fault
        self.directory = f"{work}/{self.name}"
        self.status, self.out, self.err, self.injected = None, b"", b"", ""
        self.is_possible = True

    def run(self):
        """- Returns: what is wrong, as sentences."""
        self.scenario.prepare(self.directory)
        arguments = [word.replace("{}", self.directory).replace("{name}", self.name)
                     for word in self.scenario.arguments]
        self.launch(arguments)
        try:
            return list(self.problems())
        except Exception as error:  # pylint: disable=broad-except
            return [f"the oracle does not understand what is there: {error!r}"]

    def launch(self, arguments):
        trace = self.directory + ".trace"
        tracer = ["strace", "-f", "-y", "-qq", "-o", trace]
        if self.fault:
            call, error, number = self.fault
            tracer += ["--seccomp-bpf", "-e", f"trace={call}", "-e", "signal=none",
                       "-e", f"inject={call}:error={error}:when={number}"]
        with open(self.directory + "/stdout", "w+b") as out, \
                open(self.directory + "/stderr", "w+b") as err:
            process = subprocess.Popen(
                tracer + [options.smallweb, *arguments], stdin=subprocess.DEVNULL, stdout=out,
                stderr=err, cwd=self.directory + "/out", env=environment(self.directory),
                start_new_session=True)
            try:
                self.status = process.wait(SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self.status = None
            finally:
                end_group(process)
            out.seek(0)
            err.seek(0)
            self.out, self.err = out.read(), err.read()
        os.remove(out.name)
        os.remove(err.name)
        with open(trace, encoding="utf-8", errors="replace") as file:
            self.trace = file.read().splitlines()
        os.remove(trace)
        for _, name, rest in calls(self.trace):
            if rest.endswith("(INJECTED)"):
                self.injected = f"{name}({rest}"
                self.is_possible = self.fault[1] in errors_of(name, rest)

    def problems(self):
        # Threads count their calls for themselves: this was one of another than in the rehearsal.
        if not self.is_possible:
            return
        if self.status is None:
            yield f"hangs: still running after {SECONDS_MAX} s"
            return
        if self.status < 0:
            yield f"killed by {signal.Signals(-self.status).name}"
        elif self.status == 125:
            yield "status 125, an internal error"
        elif self.status in (2, 3) and self.injected:
            yield f"status {self.status}: it blames the command line"
        # Calls may come in another order than in the rehearsal, and the fault meet another file.
        if self.fault and self.fault[1] in INVISIBLE and self.injected and self.status != 0 \
                and not SYSTEM_FILE.search(self.injected):
            yield f"status {self.status} after an interrupted call"
        if self.status != 0 and not self.err and "/stderr>" not in self.injected:
            yield "fails without a message"
        yield from self.scenario.check(self)
        yield from self.permissions()
        for name in self.scenario.leftovers(self.directory):
            # What cannot be removed stays.
            if not self.injected.startswith("unlink"):
                yield f"left behind: {re.sub('[0-9]+', 'N', name)}"

    def permissions(self):
        for name in self.scenario.files:
            path = f"{self.directory}/{name}"
            allowed = 0o640 if name.startswith("out/") else 0o600
            if os.path.exists(path) and os.stat(path).st_mode & 0o777 & ~allowed:
                yield f"{name} may be read by more people than before"

    def clean_up(self):
        shutil.rmtree(self.directory, ignore_errors=True)


def environment(directory):
    """A private home, and nothing of the caller's but the path."""
    return {
        "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TMPDIR": directory + "/cache",
        "HOME": directory + "/home", "XDG_CONFIG_HOME": directory + "/config",
        "XDG_DATA_HOME": directory + "/data", "XDG_STATE_HOME": directory + "/state",
        "XDG_CACHE_HOME": directory + "/cache", "SMALLWEB_NO_HISTORY": "1",
    }


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def measure(*arguments, file="data/smallweb/known_hosts"):
    """Runs smallweb without a tracer.

    - Returns: standard output, and what is in `file` then.
    """
    directory = tempfile.mkdtemp(dir=work)
    ended = subprocess.run([options.smallweb, *arguments], env=environment(directory),
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"smallweb {' '.join(arguments)}: {ended.stderr.decode()}")
    try:
        with open(f"{directory}/{file}", "rb") as kept:
            return ended.stdout, kept.read()
    except FileNotFoundError:
        return ended.stdout, b""


CALL = re.compile(r"(\d+) +([a-z0-9_]+)\((.*)")
UNFINISHED = " <unfinished ...>"
RESUMED = re.compile(r"(\d+) +<\.\.\. [a-z0-9_]+ resumed>(.*)")
unknown_calls = set()


def calls(trace):
    """(thread, name, arguments and result) of each call of a trace.

    strace writes a call in two lines if that of another thread comes between its start and its end.
    """
    begun = {}
    for line in trace:
        if resumed := RESUMED.match(line):
            line = begun.pop(resumed[1], "") + resumed[2]
        elif line.endswith(UNFINISHED):
            begun[line.split(None, 1)[0]] = line.removesuffix(UNFINISHED)
            continue
        if call := CALL.match(line):
            yield call.groups()


def plan(case):
    """The faults of a scenario, from a run of it without any.

    A fault is (call, error, number): strace counts the calls of each thread for itself, so a fault
    may meet two threads. The dynamic loader's calls before main are left out, whatever the thread;
    they end when it unmaps its cache. It comes back for each library that is opened later: one
    scenario is enough for that.
    """
    counts = collections.Counter()
    before_main = set()
    faults = {}
    cache, loading = {}, {}
    started = False
    for thread, name, rest in calls(case.trace):
        counts[thread, name] += 1
        number = counts[thread, name]
        if not started:
            before_main.add((name, number))
        if name == "openat" and '"/etc/ld.so.cache"' in rest:
            loading[thread] = True
        if name == "mmap" and "</etc/ld.so.cache>" in rest:
            cache[thread] = rest.rsplit("= ", 1)[1]
        skipped = (name, number) in before_main \
            or loading.get(thread) and not case.scenario.libraries
        if name == "munmap" and thread in cache and rest.startswith(cache[thread] + ","):
            started = True
            loading[thread] = False
            del cache[thread]
        if skipped:
            continue
        if name not in ERRORS and not any(name in calls for calls in SKIPPED.values()):
            unknown_calls.add(name)
        mine = any(f'"{case.directory}/{file}"' in rest for file in case.scenario.files)
        for error in errors_of(name, rest):
            # A file that is not there is as good as an empty one.
            if error == "ENOENT" and mine:
                continue
            faults[name, error, number] = True
    return list(faults)


def place_of(case):
    """Where the fault was, without numbers that differ from run to run."""
    text = case.injected.replace(case.directory, "…")
    text = re.sub(r"\) +=  *-1.*", ")", text)
    text = re.sub(r'"[^"]*\\[^"]*"', '"…"', text)
    text = re.sub(r"0x[0-9a-f]+", "0x…", text)
    text = re.sub(r"(socket|eventpoll|eventfd|pipe):?\[?\d+\]?", r"\1", text)
    return text[:150]


def report(case, problems):
    scenario = case.scenario
    for problem in problems:
        print(f"not ok - {scenario.name}: {problem}")
    if case.fault:
        call, error, number = case.fault
        print(f"    {error} from {place_of(case)}")
        print(f"    again: run.py … --only '{scenario.name}' --case {call}:{error}:{number}")
    status = "hung" if case.status is None else case.status
    print(f"    exit status: {status}")
    for line in case.err.decode(errors="replace").splitlines()[-3:]:
        print(f"    stderr: {line[:200].replace(case.directory, '…')}")
    sys.stdout.flush()


class Tally:
    """What came of all runs."""

    def __init__(self):
        self.passed = self.failed = self.missed = 0
        self.kinds = collections.defaultdict(collections.Counter)

    def take(self, case, problems):
        if not problems:
            self.passed += 1
            self.missed += bool(case.fault) and not case.injected
            return
        self.failed += 1
        report(case, problems)
        if case.fault:
            site = re.sub(r"\d+", "N", place_of(case))[:100]
            for problem in problems:
                self.kinds[case.scenario.name, problem, site][case.fault[1]] += 1

    def summary(self):
        if self.kinds:
            print("\nWhat failed, by scenario, problem and call:")
        for (name, problem, site), errors in sorted(self.kinds.items()):
            print(f"{name}: {problem}: {' '.join(sorted(errors))} from {site}")


def rehearse(chosen, tally):
    """Runs each scenario without a fault.

    - Returns: (scenario, fault) for all that can be made to fail; what is wrong without a fault.
    """
    pairs, known = [], {}
    for scenario in chosen:
        case = Case(scenario)
        problems = case.run()
        if case.status != 0:
            problems.append(f"status {case.status} without any fault")
        tally.take(case, problems)
        known[scenario] = set(problems)
        faults = plan(case)
        if options.case:
            call, error, number = options.case.split(":")
            faults = [(call, error, int(number))]
        case.clean_up()
        print(f"{scenario.name}: {len(faults)} faults", flush=True)
        pairs += [(scenario, fault) for fault in faults]
    for name in sorted(unknown_calls):
        tally.failed += 1
        print(f"not ok - errors.py knows the call {name}")
    return pairs, known


def inject(pairs, known, tally, end):
    """Runs all faults, or those that begin before `end`."""
    def run(pair):
        if end and time.monotonic() > end:
            return None, []
        case = Case(*pair)
        # What is wrong without a fault was said once.
        problems = [problem for problem in case.run() if problem not in known[case.scenario]]
        case.clean_up()
        return case, problems

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, problems in pool.map(run, pairs):
            if case:
                tally.take(case, problems)


def main():
    started = time.monotonic()
    tally = Tally()
    loopback = Loopback(options.loopback)
    titan = Titan(certificate(work))
    try:
        chosen = [scenario for scenario in scenarios(loopback.place, titan, measure)
                  if not options.only or any(text in scenario.name for text in options.only)]
        pairs, known = rehearse(chosen, tally)
        if options.seconds:
            print(f"a sample of {options.seconds:g} s, --seed {options.seed}", flush=True)
            random.Random(options.seed).shuffle(pairs)
        inject(pairs, known, tally, options.seconds and started + options.seconds)
    finally:
        loopback.stop()
        shutil.rmtree(work, ignore_errors=True)
    tally.summary()
    print(f"{len(chosen)} scenarios, {len(pairs)} faults planned, {tally.passed + tally.failed} runs"
          f" ({tally.missed} ended before their fault) in {time.monotonic() - started:.0f} s,"
          f" {options.jobs} at a time")
    print(f"{'not ok' if tally.failed else 'ok'} - {tally.passed} faults passed, {tally.failed} failed")
    return 1 if tally.failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
