#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Five processes share one cache and are killed at random: none may show a wrong page, or an older one
than the newest that was kept.

usage: cache.py SMALLWEB [SECONDS]

A server gives each reply of a page a number and a body that follows from both, refuses some for now, and
takes DELETE. Each process gets lines for --cache, for --cache --max-age or for --offline, and is killed after
some of them; its replies are compared with all that had been told before it was asked. Two fetches that
overlap have no order. In the last quarter the cache has little room, and only bodies and its size are judged.
"""

import collections
import hashlib
import json
import os
import random
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

PROCESSES = 5
PAGES = 8
SMALL = 300_000
# What a record may take on a busy machine.
PATIENCE = 60

smallweb = os.path.realpath(sys.argv[1])
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
home = tempfile.mkdtemp(prefix="smallweb-cache.")
environment = {"HOME": home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
lock = threading.Lock()
versions = collections.Counter()
# By page: the numbers that a process has told, and the changes, each from its question to its answer.
told = {f"/{number}": [] for number in range(PAGES)}
changes = {f"/{number}": [] for number in range(PAGES)}
# By page and number: when its process was asked for it, and when it had answered, or had been killed.
fetched = {}
counts, faults = collections.Counter(), []


def body(page, number):
    """Up to 30 kB that no other page has."""
    seed = hashlib.sha256(f"{page} {number}".encode()).hexdigest()
    return f"{page} {number}\n" + seed * (int(seed[:4], 16) % 480)


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            method, page, _ = self.rfile.readline().decode().split()
            while self.rfile.readline().strip():
                pass
            status, text = "200 OK", "done\n"
            if method == "GET" and random.random() < 0.2:
                status, text = "503 Away", "not now\n"
            elif method == "GET":
                with lock:
                    versions[page] += 1
                    text = body(page, versions[page])
            self.wfile.write(f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nConnection: close\r\n"
                             f"Content-Length: {len(text)}\r\n\r\n{text}".encode())
        except (OSError, ValueError):
            pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64


def fault(text):
    with lock:
        faults.append(text)


def judge(record, page, asked, known, voided, isSmall):
    """Holds a reply against the numbers that were told, and the changes that were made, before it was asked."""
    text = (record.get("body") or {}).get("text", "")
    try:
        name, number = text.split("\n", 1)[0].split(" ")
        number = int(number)
    except ValueError:
        return fault(f"a page that is none: {text[:80]!r}")
    if name != page or text != body(page, number):
        return fault(f"a wrong page for {page}: {text[:80]!r}, {len(text)} bytes")
    isKept = "recorded" in record
    counts["stale" if record.get("stale") else "kept" if isKept else "new"] += 1
    with lock:
        if not isKept:
            fetched[page, number] = (asked, time.monotonic())
            told[page].append(number)
            return None
        _, ended = fetched.get((page, number), (0, float("inf")))
        newer = [one for one in known if one > number and fetched[page, one][0] > ended]
        over = [began for began, done in voided if began > ended and done < asked]
    if not isSmall and newer:
        fault(f"{page} {number} is shown, and {max(newer)} was kept ({record.get('stale')})")
    if not isSmall and over:
        fault(f"{page} {number} is shown, which was changed since")
    return None


def work(place, ends, isSmall):
    while time.monotonic() < ends and not faults:
        options = random.choice((["--cache"], ["--cache", "--max-age", "1h"], ["--offline"]))
        if isSmall and "--offline" not in options:
            options = options + ["--cache-size", str(SMALL)]
        process = subprocess.Popen(
            [smallweb, "get", "--no-config", "-s", "--json", *options, "-"], text=True, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        guard = threading.Timer(PATIENCE, process.kill)
        guard.start()
        isKilled = random.random() < 0.6
        if isKilled:
            threading.Timer(random.expovariate(1 / 0.3), process.kill).start()
        page, asked = None, time.monotonic()
        try:
            for _ in range(random.randint(1, 30)):
                page, asked = f"/{random.randrange(PAGES)}", time.monotonic()
                isChange = "--offline" not in options and random.random() < 0.03
                with lock:
                    known, voided = list(told[page]), list(changes[page])
                    if isChange:
                        changes[page].append((asked, float("inf")))
                line = {"url": place + page, **({"method": "DELETE"} if isChange else {})}
                process.stdin.write(json.dumps(line) + "\n")
                process.stdin.flush()
                record = json.loads(process.stdout.readline() or "null")
                with lock:
                    safe = [one for one in known if all(fetched[page, one][0] > done for _, done in changes[page])]
                if record is None:
                    break
                if isChange:
                    with lock:
                        changes[page].remove((asked, float("inf")))
                        changes[page].append((asked, time.monotonic()))
                    counts["changes"] += 1
                elif record["ok"]:
                    judge(record, page, asked, known, voided, isSmall)
                elif record["outcome"] not in ("temporary-failure", "not-recorded"):
                    fault(f"{options} {page}: {record['outcome']}: {record['error']['message']}")
                elif record["outcome"] == "not-recorded" and safe and not isSmall:
                    fault(f"{options} {page}: {max(safe)} was kept and is not there")
                else:
                    counts["none"] += 1
            process.stdin.close()
        except (BrokenPipeError, json.JSONDecodeError):
            pass
        said = process.stderr.read()
        process.stdout.close()
        status = process.wait()
        guard.cancel()
        counts["killed" if status == -9 else "ended"] += 1
        if status == -9 and not isKilled:
            fault(f"{options}: no record within {PATIENCE} s")
        if said:
            fault(f"{options}: {said[:300]}")


def run(place, duration, isSmall):
    ends = time.monotonic() + duration
    workers = [threading.Thread(target=work, args=(place, ends, isSmall)) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def ask(*words):
    return subprocess.run([smallweb, *words], capture_output=True, text=True, env=environment, check=False)


try:
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = "http://127.0.0.1:%d" % server.server_address[1]
        run(place, seconds * 3 / 4, False)
        folder = home + "/.cache/smallweb/"
        for name in sorted(os.listdir(folder)):
            # What a kill has cut off is cut off by the next run alone.
            if name.endswith(".gz") and "is not" in ask("warc", "check", folder + name).stderr:
                fault(f"{name} is not an archive")
        run(place, seconds / 4, True)
        ask("get", "--no-config", "--cache", "--cache-size", str(SMALL), place + "/0")
        ask("get", "--no-config", "--cache", "--cache-size", str(SMALL), place + "/1")
        bytes_now = sum(os.path.getsize(folder + name) for name in os.listdir(folder))
        if bytes_now > SMALL:
            fault(f"the cache has {bytes_now} bytes, and {SMALL} are its limit")
        server.shutdown()
    print(f"{seconds:.0f} s, {PROCESSES} processes at a time: {counts['killed']} killed, {counts['ended']} ended; "
          f"{counts['new']} pages new, {counts['kept']} kept, {counts['stale']} stale, {counts['none']} not there; "
          f"{counts['changes']} changes; {bytes_now} bytes at the end; {len(faults)} faults")
    for text in faults[:10]:
        print(text)
    sys.exit(1 if faults else 0)
finally:
    shutil.rmtree(home, ignore_errors=True)
