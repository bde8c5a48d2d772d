#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One smallweb process, as the co-process of a program, against honest and hostile servers, proxies
and plugins for minutes: its descriptors and its memory must not grow.

usage: soak.py SMALLWEB SMALLWEB-LOOPBACK [SECONDS]

It works in rounds: every URL a few times, in random order; when all records are there, the idle
process is measured. The median of the last quarter of the rounds is compared with that of the
second, and the highest mark of memory with a fixed bound.
"""

import collections
import json
import os
import queue
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import hostile
import programs
import proxies
from servers import Loopback, certificate, tls_context

AT_ONCE = 16
ROUND_URLS = 300
DESCRIPTORS_MORE = 2
KILOBYTES_MORE = 4 << 10
# The process with its libraries has 25 MiB; sixteen replies at once may have 256 KiB each.
KILOBYTES_MAX = 64 << 10
# What a record may take under load; each request has its own limit, far below.
PATIENCE = 60

smallweb, loopback_program = (os.path.realpath(path) for path in sys.argv[1:3])
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 600


def honest_urls(place):
    paths = {
        "gemini": ["/", "/about", "/1k", "/redirect/2", "/big/100000", "/status/51"],
        "gopher": ["/", "/0/about.txt", "/9/1k", "/9/big/100000"],
        "gophers": ["/0/about.txt", "/9/1k"],
        "finger": ["/ada", "/1k"],
        "nex": ["/", "/notes/", "/1k"],
        "spartan": ["/", "/echo?data", "/redirect/2", "/1k", "/big/100000", "/status/5"],
        "git": ["/demo.git//docs/guide.md?ref=v1", "/demo.git//"],
        "http": ["/", "/1k", "/chunked", "/gzip", "/redirect/2", "/big/100000", "/status/404"],
    }
    return {f"{scheme}: {path}": f"{scheme}://{place[scheme]}{path}"
            for scheme, rest in paths.items() for path in rest}


def rude_urls(place):
    """Pages of the loopback servers that end badly."""
    paths = {
        "gemini": ["/truncated", "/reset", "/silent", "/silent-body", "/no-reply",
                   "/endless-header", "/endless", "/loop", "/malformed", "/bad-redirect"],
        "gopher": ["/1/reset", "/0/silent", "/1/endless-line"],
        "gophers": ["/0/silent"],
        "finger": ["/silent", "/reset"],
        "nex": ["/silent", "/reset"],
        "spartan": ["/silent", "/reset", "/loop", "/malformed", "/refused-early"],
        "http": ["/truncated", "/truncated-chunks", "/reset", "/reset-header", "/silent",
                 "/silent-body", "/endless", "/garbage", "/bad-chunk", "/bad-gzip",
                 "/endless-header", "/endless-headers", "/many-headers", "/endless-1xx",
                 "/gzip-bomb", "/loop", "/no-reply"],
    }
    return {f"{scheme}: {path}": f"{scheme}://{place[scheme]}{path}"
            for scheme, rest in paths.items() for path in rest}


class CoProcess:
    def __init__(self, home, options):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": home,
                       "TMPDIR": home}
        self.process = subprocess.Popen(
            [smallweb, "get", "-s", "--json", "-j", str(AT_ONCE), "--per-host", str(AT_ONCE),
             "--max-filesize", "256K", "--max-redirs", "5", *options, "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.records = queue.Queue()
        self.id = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.records.put(line)
        self.records.put(None)

    def ask(self, url, limit):
        self.id += 1
        line = json.dumps({"url": url, "id": self.id, "max_time": limit}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        return self.id

    def measure(self):
        """Descriptors, and kilobytes resident now and at most."""
        number = self.process.pid
        with open(f"/proc/{number}/status", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return (len(os.listdir(f"/proc/{number}/fd")),
                int(fields["VmRSS"].split()[0]), int(fields["VmHWM"].split()[0]))


class Soak:
    def __init__(self, places, tls, work):
        """`places` are three of our own: one met directly, two through proxies."""
        lines, rude_proxies = proxies.start(places[1:])
        config = os.path.join(work, "config")
        with open(config, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        plugins, honest, rude_programs = programs.start(work, places[0]["finger"])
        self.options = ["--config", config, *plugins]
        self.honest = {**honest_urls(places[0]), **honest}
        for way, place in zip(["SOCKS", "CONNECT"], places[1:]):
            # Plain HTTP is passed on by a proxy, not tunnelled.
            self.honest |= {f"{way}, {name}": url for name, url in honest_urls(place).items()
                            if way == "SOCKS" or not name.startswith("http:")}
        self.hostile = {**hostile.start(tls), **rude_urls(places[0]), **rude_proxies,
                        **rude_programs}
        # Codes that a client should mind, but that are answers.
        answers = ("/status/5", "/status/51", "/status/404")
        self.refusals = {name for name in self.honest if name.endswith(answers)}
        self.problems = collections.Counter()
        self.outcomes = collections.defaultdict(collections.Counter)
        self.done = 0

    def round(self, process):
        """Asks for everything, and waits for every record."""
        kinds = [(name, url, 20) for name, url in self.honest.items()]
        kinds += [(name, url, 0.25) for name, url in self.hostile.items()]
        todo = [random.choice(kinds) for _ in range(ROUND_URLS - len(kinds))] + kinds
        random.shuffle(todo)
        waiting = {}
        while todo or waiting:
            while todo and len(waiting) < 4 * AT_ONCE:
                name, url, limit = todo.pop()
                waiting[process.ask(url, limit)] = name
            line = process.records.get(timeout=PATIENCE)
            if line is None:
                raise EOFError
            self.take(json.loads(line), waiting)

    def take(self, record, waiting):
        if record["type"] not in ("response", "error"):
            return
        name = waiting.pop(record["id"], None)
        if name is None:
            self.problems["a record that was not asked for"] += 1
            return
        self.done += 1
        self.outcomes[name][record["outcome"]] += 1
        if record["exit"] == 125:
            self.problems[f"{name}: internal error: {record['error']['message']}"] += 1
        elif name in self.honest and name not in self.refusals and not record["ok"]:
            self.problems[f"{name}: {record['outcome']}"] += 1
        elif name in self.hostile and record["ok"]:
            self.problems[f"{name}: ok"] += 1


def quarter(values, which):
    size = len(values) // 4
    return statistics.median(values[which * size:(which + 1) * size])


def judge(samples, soak):
    """- Returns: (sentence, whether it holds) pairs."""
    descriptors, resident, highest = zip(*samples)
    for what, values, more in [("descriptors", descriptors, DESCRIPTORS_MORE),
                               ("kilobytes", resident, KILOBYTES_MORE)]:
        second, last = quarter(values, 1), quarter(values, 3)
        yield (f"{what} stay: {second:g} in the second quarter, {last:g} in the last,"
               f" {min(values)} to {max(values)} in all", last <= second + more)
    yield (f"never more than {KILOBYTES_MAX} kilobytes: {highest[-1]} at most",
           highest[-1] <= KILOBYTES_MAX)
    yield ("every record is as its server deserves", not soak.problems)


def main():
    random.seed(1)
    work = tempfile.mkdtemp(prefix="smallweb-soak.")
    loopbacks = [Loopback(loopback_program) for _ in range(3)]
    soak = Soak([loopback.place for loopback in loopbacks], tls_context(certificate(work)), work)
    process = CoProcess(work, soak.options)
    samples = []
    passed = failed = 0
    try:
        print(f"{len(soak.honest)} honest and {len(soak.hostile)} hostile URLs, {AT_ONCE} at a"
              f" time, for {seconds:g} s", flush=True)
        started = told = time.monotonic()
        try:
            while time.monotonic() - started < seconds or len(samples) < 8:
                soak.round(process)
                # What was just cancelled may take a turn of the loop to be closed.
                time.sleep(0.2)
                samples.append(process.measure())
                if time.monotonic() - told > 30 or len(samples) == 1:
                    told = time.monotonic()
                    print(f"{told - started:5.0f} s: {soak.done} requests, {samples[-1][0]}"
                          f" descriptors, {samples[-1][1]} kilobytes", flush=True)
            process.process.stdin.close()
            process.process.wait(PATIENCE)
        except (EOFError, BrokenPipeError, queue.Empty) as error:
            failed += 1
            print(f"not ok - it answers to the end: {type(error).__name__},"
                  f" exit status {process.process.poll()}")
        for name, outcomes in soak.outcomes.items():
            print(f"    {name}: " + ", ".join(f"{count} {outcome}"
                                              for outcome, count in outcomes.most_common()))
        for problem, count in soak.problems.most_common():
            print(f"    problem: {count} times {problem}")
        if len(samples) >= 8:
            for sentence, holds in judge(samples, soak):
                print(("ok - " if holds else "not ok - ") + sentence)
                passed, failed = passed + holds, failed + (not holds)
        print(f"{soak.done} requests in {len(samples)} rounds, {time.monotonic() - started:.0f} s")
        print(f"{passed} passed, {failed} failed")
    finally:
        process.process.kill()
        for loopback in loopbacks:
            loopback.stop()
        shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
