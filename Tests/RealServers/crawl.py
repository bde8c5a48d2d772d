#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fetches a long list from many hosts, with one process and with the engines of docs/scale.md, and
looks into the server's log.

usage: crawl.py SMALLWEB [--lines N] [--hosts N] [--python FILE] [WAY]...

A WAY is one, killed, parallel or spark; the first two without any. Every host must be left alone for
the second that the recipes ask for, and every way must give the records of one process. `killed`
kills one of ten workers in its midst and starts all of them again, with their ledgers.

It needs a network namespace of its own, where each address of 127.0.0.0/8 is a host:
unshare --map-root-user --net crawl.py ...
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SERVER = HERE / "paced-server.py"
SCALE = HERE.parent.parent / "docs/scale.md"
WORKERS = 10
# Of the second between two requests to a host, a busy machine may take up half.
SECONDS_MIN = 0.5

options = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
options.add_argument("smallweb", type=os.path.realpath)
options.add_argument("--lines", type=int, default=1_000_000)
options.add_argument("--hosts", type=int, default=10_000)
options.add_argument("--python", default=sys.executable)
options.add_argument("ways", nargs="*", default=["one", "killed"])
options = options.parse_intermixed_args()

failures = 0


def say(name, problem, report):
    global failures
    failures += problem is not None
    print(f"{'not ok' if problem else 'ok'} - {name}: {report}", flush=True)
    if problem:
        print(f"    {problem}", flush=True)


def recipe(heading):
    """The code below a heading of docs/scale.md."""
    section = re.search(rf"^### {heading}\n(.*?)(?=^#|\Z)", SCALE.read_text(), re.M | re.S)[1]
    return "".join(line[4:] + "\n" for line in section.splitlines() if line.startswith("    "))


def shell(command):
    """- Returns: how long it took, and how much processor time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, check=True)
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, sum(getattr(after, name) - getattr(before, name)
                        for name in ("ru_utime", "ru_stime"))


FETCH = "smallweb get -s --json -Z --per-host-delay 1 --exit-status run"


def one():
    used = shell(f"{FETCH} @urls.txt > records.jsonl")
    return used, ["records.jsonl"]


def parallel():
    return shell(recipe("GNU parallel")), ["records.jsonl"]


def spark():
    pathlib.Path("recipe.py").write_text(recipe("Spark"))
    environment = {"PYSPARK_PYTHON": options.python, "SPARK_LOCAL_IP": "127.0.0.1",
                   "PYSPARK_SUBMIT_ARGS": "--master local[2] pyspark-shell"}
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
    seconds, _ = shell(f"{words} {options.python} recipe.py > spark.out 2> spark.err"
                       " || { grep -v '^[[:space:]]*at ' spark.err >&2; exit 1; }")
    # What Spark starts is not ours to measure.
    return (seconds, None), sorted(pathlib.Path("records").glob("part-*"))


def killed():
    """A tenth of the workers is killed while it works, and all are started again."""
    began = time.monotonic()

    def worker(part):
        return subprocess.Popen(
            ["bash", "-c", f"exec {FETCH} --shard {part}/{WORKERS} --ledger part{part}.jsonl "
             f"@urls.txt >> records{part}.jsonl"], stdin=subprocess.DEVNULL)

    victim = worker(0)
    end = time.monotonic() + 120
    while not os.path.exists("part0.jsonl") or sum(1 for _ in open("part0.jsonl", "rb")) < 20:
        if time.monotonic() > end:
            raise SystemExit("waited 120 s for twenty lines of part0.jsonl")
        time.sleep(0.01)
    victim.kill()
    if victim.wait() != -9:
        raise SystemExit("the worker had ended before it was killed: more --lines")
    # Its ledger does not know when it made its last request.
    time.sleep(1)
    for first in range(0, WORKERS, 2):
        for process in [worker(first), worker(first + 1)]:
            if process.wait() != 0:
                raise SystemExit(f"a worker ended with {process.returncode}")
    shell("smallweb ledger merge part*.jsonl > done.jsonl")
    return (time.monotonic() - began, None), ["done.jsonl"]


def outcomes(files):
    """- Returns: the number of terminal records, and a hash of what they say."""
    lines = []
    for name in files:
        with open(name, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                if record["type"] in ("response", "error"):
                    digest = (record.get("body") or {}).get("sha256")
                    lines.append(f"{record['url']} {record['outcome']} {digest}")
    lines.sort()
    return len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest()


def crawl(way, directory):
    """- Returns: what is wrong or nothing, and what was measured."""
    log = directory / "log"
    log.write_bytes(b"")
    server = subprocess.Popen([SERVER, "--everywhere", log], stdout=subprocess.PIPE, text=True)
    try:
        port = server.stdout.readline().strip()
        if server.stdout.readline() != "ready\n":
            raise SystemExit("the server does not start")
        urls = [f"gopher://127.{1 + host // 250}.1.{1 + host % 250}:{port}/0/{page}"
                for page in range(-(-options.lines // options.hosts))
                for host in range(options.hosts)][:options.lines]
        random.Random(16).shuffle(urls)
        pathlib.Path("urls.txt").write_text("".join(url + "\n" for url in urls))
        wanted = sorted(f"{url} ok {digest(url)}" for url in urls)
        wanted = len(wanted), hashlib.sha256("\n".join(wanted).encode()).hexdigest()
        del urls
        (seconds, processor), files = globals()[way]()
    finally:
        server.kill()
        server.wait()
    pace = subprocess.run([SERVER, "--check", log, str(SECONDS_MIN)], capture_output=True, text=True,
                          check=False)
    seen = outcomes(files)
    report = f"{seen[0]} records in {seconds:.0f} s"
    if processor:
        report += f", {processor:.0f} s of processor time"
    report += f"; {pace.stdout.strip()}"
    if seen != wanted:
        return f"not the {wanted[0]} records that were wanted", report
    return "a host was asked too soon" if pace.returncode else None, report


def digest(url):
    place, page = url.removeprefix("gopher://").split("/0/")
    return hashlib.sha256(f"page /{page} of {place}\r\n".encode()).hexdigest()


def main():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory(prefix="smallweb-crawl.") as work:
        os.environ.update(
            HOME=work, XDG_STATE_HOME=work, XDG_CONFIG_HOME=work, XDG_DATA_HOME=work,
            PATH=f"{os.path.dirname(options.smallweb)}:{os.environ['PATH']}")
        for way in options.ways:
            directory = pathlib.Path(work, way)
            directory.mkdir()
            os.chdir(directory)
            say(f"{options.lines} lines of {options.hosts} hosts, {way}",
                *crawl(way, directory))
            os.chdir(work)
            subprocess.run(["rm", "-rf", directory], check=True)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
