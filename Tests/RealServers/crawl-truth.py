#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Crawls of a space whose truth is known, by a server that fails one request in five for now: a mirror
and an archive that are killed, a link check, and a disk that fills; the same in rounds, between and
within which the space changes; and secrets, which stay with the servers that were given.

usage: crawl-truth.py SMALLWEB [--kills N] [--checks N] [--pages N] [WAY]...

A WAY is mirror, archive, check, checks, disk, rounds, records or secrets; all of them without any. `checks` is as many
whole checks, one after the other. `disk` needs to mount a file system of its own, and `secrets` a network.
"""

import argparse
import itertools
import json
import os
import pathlib
import random
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

options = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
options.add_argument("smallweb", type=os.path.realpath)
options.add_argument("--kills", type=int, default=4)
options.add_argument("--checks", type=int, default=5)
options.add_argument("--pages", type=int, default=60)
options.add_argument("ways", nargs="*", default=["mirror", "archive", "check", "checks", "disk", "rounds", "records",
                                                 "secrets"])
options = options.parse_intermixed_args()
CHANCE = random.Random(os.environ.get("SEED", "51"))
# Runs until a crawl is over: each page fails one time in five.
RUNS_MAX = 60


class Space:
    """A tree of pages over spartan. Every seventh link is broken."""

    scheme, index, end = "spartan", "index.gmi", "gmi"
    line = "=> {} a\n"
    replies = {"page": "2 text/gemini\r\n", "missing": "4 not found\r\n", "later": "5 later\r\n"}

    def __init__(self, pages, failing):
        self.pages, self.failing, self.asked = pages, failing, 0
        # Pages that are gone, and the version of those that have changed.
        self.gone, self.versions = set(), {}
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.place = f"{self.scheme}://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def path(self, n):
        return "/" if n == 0 else f"/d{n % 7}/p{n}.{self.end}"

    def links(self, n):
        """The targets of the links of a page, one a line from the second on."""
        below = [m for m in range(4 * n + 1, 4 * n + 5) if m < self.pages]
        if n == 0:
            below += range(self.pages, len(self.versions.get("new", "")) + self.pages)
        links = [self.path(m) for m in below] + [self.path(n // 3)]
        return links + ([f"/gone/{n}"] if n % 7 == 3 else [])

    def body(self, n):
        text = f"# page {n}\n" + "".join(self.line.format(link) for link in self.links(n))
        return text + f"{n} " * 400 + f"{self.versions.get(n, 0)}\n"

    def there(self):
        new = len(self.versions.get("new", ""))
        return [n for n in range(self.pages + new) if n not in self.gone]

    def broken(self):
        """What a check must print: target, page and line of each broken link."""
        return sorted((self.place + link, self.place + self.path(n), str(line + 2))
                      for n in range(self.pages) for line, link in enumerate(self.links(n))
                      if link.startswith("/gone/"))

    def accept(self):
        while True:
            peer, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        with peer:
            try:
                reader = peer.makefile("rb")
                path = reader.readline().split()[1].decode()
                tag = ""
                while self.scheme == "http" and (field := reader.readline().strip()):
                    name, _, value = field.decode().partition(": ")
                    tag = value if name.lower() == "if-none-match" else tag
                self.asked += 1
                self.answer(peer, path, tag)
            except (OSError, IndexError):
                pass

    def answer(self, peer, path, tag):
        pages = {self.path(n): n for n in self.there()}
        reply = self.replies["missing"].encode()
        if path in pages:
            body = self.body(pages[path])
            own = f'"{zlib.crc32(body.encode())}"'
            reply = self.replies["page"].replace("LENGTH", str(len(body))).replace("TAG", own) + body
            reply = (self.replies.get("same") if own == tag else reply).encode()
        if path == "/robots.txt" or not self.failing or CHANCE.random() >= 0.2:
            return peer.sendall(reply)
        kind = CHANCE.randrange(4)
        if kind == 1:
            return peer.sendall(self.replies["later"].encode())
        if kind > 1:
            # A reset, before or within the reply.
            peer.sendall(reply[:0 if kind == 2 else len(reply) // 2])
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class WebSpace(Space):
    """The same in HTML over HTTP. Some pages are in frames, and some embedded if `embeds` says so."""

    scheme, index, end, embeds = "http", "index.html", "html", True
    replies = {
        "page": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: LENGTH\r\n"
                "ETag: TAG\r\nConnection: close\r\n\r\n",
        "same": "HTTP/1.1 304 Same\r\nConnection: close\r\n\r\n",
        "missing": "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "later": "HTTP/1.1 503 Later\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    }

    class Line:
        """Markup of a link, on a line of its own."""

        def format(self, link):
            kind = sum(link.encode()) % 4
            return f"<iframe src='{link}'></iframe>\n" if kind == 1 else \
                f"<object data='{link}'></object>\n" if kind == 2 and WebSpace.embeds else \
                f"<a href={link}>a</a>\n"

    line = Line()


def command(*words):
    return [options.smallweb, "crawl", "--per-host-delay", "0", *words]


def run(*words):
    return subprocess.run(command(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)


def until_over(*words):
    """Runs a crawl until it is over: its status must be 75 until then.

    - Returns: the last run, and how many there were.
    """
    for count in range(RUNS_MAX):
        result = run(*words)
        if result.returncode != 75:
            return result, count + 1
    raise SystemExit(f"not over after {RUNS_MAX} runs: {result.stderr}")


def killed(state, *words):
    """Runs a crawl that is killed again and again while its state grows, and then to its end."""
    kills, size = 0, 0
    while kills < options.kills:
        process = subprocess.Popen(command(*words), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = size + CHANCE.randrange(1500)
        while process.poll() is None and (
                not os.path.exists(state) or os.path.getsize(state) <= wanted):
            time.sleep(0.0005)
        time.sleep(CHANCE.random() * 0.003)
        process.send_signal(signal.SIGKILL)
        if process.wait() == -signal.SIGKILL:
            kills += 1
        elif process.returncode == 0:
            return kills
        size = os.path.getsize(state)
    return kills


def lines(state):
    with open(state, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def done(state, place):
    """Outcomes of pages by path: the last line of each."""
    return {line["url"].removeprefix(place): line["outcome"] for line in lines(state)
            if line["type"] in ("response", "error")}


def files(directory):
    root = pathlib.Path(directory)
    return {str(path.relative_to(root)).split("/", 2)[2]: path.read_bytes()
            for path in root.rglob("*") if path.is_file()}


def wanted(space):
    return {space.path(n).lstrip("/") or space.index: space.body(n).encode() for n in space.there()}


def mirror(space):
    words = ["--state", "s", "--mirror", "m", space.place + "/"]
    kills = killed("s", *words)
    result, runs = until_over(*words)
    if result.returncode != 0 or files("m") != wanted(space):
        return f"status {result.returncode}, not the files of the space: {result.stderr}", ""
    return None, f"{kills} kills, {runs} runs more, {space.asked} requests, {len(files('m'))} files"


def archive(space):
    words = ["--state", "s", "--warc", "a.warc.gz", space.place + "/"]
    kills = killed("s", *words)
    result, runs = until_over(*words)
    there = done("s", space.place)
    urls = {space.path(n) for n in range(space.pages)}
    if result.returncode != 0 or {path for path in there if there[path] == "ok"} != urls:
        return f"status {result.returncode}, not the pages of the space: {result.stderr}", ""
    checked = subprocess.run([options.smallweb, "warc", "check", "a.warc.gz"], check=False,
                             capture_output=True, text=True)
    for path in urls:
        body = subprocess.run([options.smallweb, "warc", "cat", "a.warc.gz", space.place + path],
                              capture_output=True, check=False).stdout
        if body != wanted(space)[path.lstrip("/") or space.index]:
            return f"{path} is not in the archive as it was served", ""
    if checked.returncode != 0:
        return f"warc check: {checked.stdout}{checked.stderr}", ""
    return None, f"{kills} kills, {runs} runs more, {len(urls)} pages"


def rows(result):
    return sorted(tuple(line.split("\t")[1:]) for line in result.stdout.splitlines()
                  if line.startswith("permanent-failure\t"))


def problem_of_check(space, *words):
    """- Returns: what is wrong with a check, over as many runs as it needs."""
    broken = space.broken()
    for _ in range(RUNS_MAX):
        result = run(*words)
        found = rows(result)
        # A check that fails for now may not know all, but calls nothing broken that is not.
        if not set(found) <= set(broken):
            return f"called broken: {sorted(set(found) - set(broken))[:3]}"
        words_of_rows = {line.split("\t")[0] for line in result.stdout.splitlines()}
        if len(found) != len(set(found)):
            return "a link is reported twice"
        if words_of_rows <= {"permanent-failure"} and "waiting: 0" in result.stderr:
            if found != broken or result.returncode != 22:
                return f"status {result.returncode}, {len(found)} of {len(broken)} broken links"
            return None
        if result.returncode not in (22, 75):
            return f"status {result.returncode} with pages waiting: {result.stderr}"
    return "not over"


def check(space):
    words = ["--state", "s", "--check", space.place + "/"]
    kills = killed("s", *words)
    return problem_of_check(space, *words), f"{kills} kills, {space.asked} requests"


def checks(space):
    for number in range(options.checks):
        problem = problem_of_check(space, "--state", f"s{number}", "--check", space.place + "/")
        if problem:
            return f"check {number}: {problem}", ""
        os.unlink(f"s{number}")
    return None, f"{options.checks} checks, {len(space.broken())} broken links each"


def disk(space):
    """A disk that fills, and is made larger."""
    os.mkdir("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "disk"]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        return None, "skipped, no file system can be mounted here"
    words = ["--state", "disk/s", "--mirror", "disk/m", space.place + "/"]
    try:
        full = 0
        for size in range(64, 4096, 32):
            subprocess.run(["mount", "-o", f"remount,size={size}k", "disk"], check=True)
            result, _ = until_over(*words)
            if result.returncode == 0:
                break
            if result.returncode != 23 or "no space left" not in result.stderr:
                return f"status {result.returncode} on a full disk: {result.stderr}", ""
            full += 1
        if files("disk/m") != wanted(space) or full < 3:
            return f"not the files of the space after {full} full disks: {result.stderr}", ""
        first = full
        change(space)
        for size in range(size, 4096, 8):
            subprocess.run(["mount", "-o", f"remount,size={size}k", "disk"], check=True)
            result = run(*words, "--update")
            if result.returncode == 75:
                result, _ = until_over(*words)
            if result.returncode == 0:
                break
            if result.returncode != 23 or "no space left" not in result.stderr:
                return f"status {result.returncode} in a round on a full disk: {result.stderr}", ""
            full += 1
        kept = files("disk/m")
        if {name: kept.get(name) for name in wanted(space)} != wanted(space) or full == first:
            return f"not the files of the round after {full - first} full disks", ""
        return None, f"{full} times full"
    finally:
        subprocess.run(["umount", "disk"], check=False)


def change(space):
    """Makes the space another one; links to what is gone stay.

    - Returns: what a round must say of each page that is not the same.
    """
    before = set(space.there())
    leaves = [n for n in before if 4 * n + 1 >= space.pages and n % 7]
    gone, back = set(CHANCE.sample(leaves, 3)), set(space.gone)
    # One comes back.
    space.gone = (space.gone | gone) - set(list(back)[:1])
    kept = sorted(set(space.there()) & before)
    changed = set(CHANCE.sample(kept, 5)) | {0}
    for n in changed:
        space.versions[n] = space.versions.get(n, 0) + 1
    space.versions["new"] = space.versions.get("new", "") + "x"
    words = {n: "changed" for n in changed} | {n: "gone" for n in gone}
    words |= {n: "new" for n in set(space.there()) - before}
    return {space.place + space.path(n): word for n, word in words.items()}


def news():
    result = subprocess.run([options.smallweb, "watch", "--crawl", "s"], check=False,
                            capture_output=True, text=True)
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    return result.returncode, {url: word for word, url in rows if "/gone/" not in url}


def round_of(space, words, what):
    """A round that is killed again and again while one request in five fails, and then continued until
    its pages are there.

    - Returns: what is wrong.
    """
    result, _ = until_over(*words)
    if result.returncode != 0:
        return f"status {result.returncode} at first: {result.stderr}"
    for number in range(4):
        expected = change(space)
        before = {path: os.stat(path) for path in pathlib.Path("m").rglob("*") if path.is_file()}
        # The first run begins the round. What was killed goes on, and what has ended waits.
        process = run(*words, "--update", "--max-pages", "5")
        if process.returncode != 130:
            return f"round {number}: status {process.returncode} after 5 pages: {process.stderr}"
        killed("s", *words)
        result, _ = until_over(*words, *what)
        if result.returncode != 0:
            return f"round {number}: status {result.returncode}: {result.stderr}"
        status, said = news()
        if said != expected or status != 0:
            return f"round {number}: {status}, said {said}, not {expected}"
        for path, status in before.items():
            url = f"{space.place}/" + str(path).split("/", 3)[3].replace(space.index, "")
            if url not in expected and os.stat(path).st_mtime_ns != status.st_mtime_ns:
                return f"round {number}: {path} has not changed, and has another time"
    return None


def rounds(space):
    words = ["--state", "s", "--mirror", "m", space.place + "/"]
    problem = round_of(space, words, [])
    if problem:
        return problem, ""
    kept = files("m")
    if {name: kept.get(name) for name in wanted(space)} != wanted(space):
        return "not the files of the space", ""
    space.failing = False
    result = run(*words, "--update", "--delete")
    if result.returncode != 0 or files("m") != wanted(space):
        return f"status {result.returncode}, files of pages that are gone: {result.stderr}", ""
    return None, f"5 rounds, {space.asked} requests, {len(kept) - len(files('m'))} files removed"


def records(space):
    """Rounds of an archive with records: each page is in it as it was served last."""
    words = ["--state", "s", "--json", "--warc", "a.warc.gz", space.place + "/"]
    problem = round_of(space, words, [])
    if problem:
        return problem, ""
    for name, body in wanted(space).items():
        url = f"{space.place}/" + ("" if name == space.index else name)
        came = subprocess.run([options.smallweb, "warc", "cat", "a.warc.gz", url],
                              capture_output=True, check=False).stdout
        if came != body:
            return f"{url} is not in the archive as it was served", ""
    checked = subprocess.run([options.smallweb, "warc", "check", "a.warc.gz"], check=False,
                             capture_output=True, text=True)
    if checked.returncode != 0:
        return f"warc check: {checked.stdout}{checked.stderr}", ""
    return None, f"4 rounds, {space.asked} requests"


class Witness:
    """A server that notes the secrets which it is shown: fields of HTTP, or a client certificate."""

    def __init__(self, address, context, reply):
        self.context, self.reply, self.seen = context, reply, []
        self.listener = socket.create_server((address, 0), backlog=64)
        self.place = f"{address}:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            peer, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        with peer:
            try:
                if self.context:
                    peer = self.context.wrap_socket(peer, server_side=True)
                    if peer.getpeercert(binary_form=True):
                        self.seen.append("certificate")
                reader = peer.makefile(encoding="utf-8", errors="replace", newline="\n")
                lines = [reader.readline()]
                while not self.context and lines[-1].strip():
                    lines.append(reader.readline())
                self.seen += [line for line in lines if "SECRET" in line or "authorization" in
                              line.lower()]
                path = "/" + lines[0].split("://")[-1].partition("/")[2].split(" ")[0].strip()
                peer.sendall(self.reply(path).encode())
                if self.context:
                    peer.unwrap()
            except (OSError, IndexError):
                pass


def web(body, status="200 OK", fields=""):
    return (f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n{fields}"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}")


def secrets():
    """Two hosts of a network of its own, each with a capsule and a web server. The first is given; it
    leads to the second by links, by redirects, and by the redirect of its robots file.
    """
    if os.environ.get("SMALLWEB_INSIDE") != "1":
        words = ["unshare", "--map-root-user", "--net", sys.executable, __file__, options.smallweb,
                 "secrets"]
        inside = subprocess.run(words, env={**os.environ, "SMALLWEB_INSIDE": "1"}, check=False,
                                capture_output=True, text=True)
        if "unshare failed" in inside.stderr:
            return None, "skipped, there can be no network here"
        said = inside.stdout.strip().partition(", ")[2] or inside.stderr
        return (None, said) if inside.returncode == 0 else (said, "")
    for words in ["set lo up", "addr add 11.0.0.1/32 dev lo", "addr add 11.0.0.2/32 dev lo"]:
        kind = ["link"] if words.startswith("set") else []
        subprocess.run(["ip", *kind, *words.split()], check=True)
    subprocess.run([options.smallweb, "identity", "new", "me"], check=True, capture_output=True)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj", "/CN=capsule",
                    "-keyout", "key.pem", "-out", "cert.pem"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("cert.pem", "key.pem")
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations("smallweb/identities/me.pem")
    away = Witness("11.0.0.2", context, lambda path: "51 no\r\n" if "robots" in path
                   else "20 text/gemini\r\nfine\n")
    away_web = Witness("11.0.0.2", None, lambda path: web("", "404 no") if "robots" in path
                       else web("fine"))
    capsule = Witness(
        "11.0.0.1", context, lambda path: "51 no\r\n" if "robots" in path else
        f"31 gemini://{away.place}/moved\r\n" if path == "/moves" else
        f"20 text/gemini\r\n=> gemini://{away.place}/linked\n=> http://{away_web.place}/linked\n"
        "=> /moves\n")
    home_web = Witness("11.0.0.1", None, lambda path: web(
        "", "302 Found", f"Location: http://{away_web.place}{path}\r\n"))
    pathlib.Path(".netrc").write_text("machine 11.0.0.1 login u password SECRET\n")
    os.chmod(".netrc", 0o600)
    urls = [f"gemini://{capsule.place}/", f"gemini://{capsule.place}/moves",
            f"http://{home_web.place}/"]
    shown = {
        "identity": ["--identity", "me"], "netrc": ["--netrc"],
        "fields": ["-H", "Authorization: SECRET", "-H", "Cookie: SECRET", "-H", "X-Key: SECRET"],
    }
    ways = {"any": ["crawl", "--scope", "any"], "check": ["crawl", "--check"],
            "mirror": ["crawl", "--scope", "any", "--mirror", "m"], "get": ["get", "--robots", "-s"],
            "feed": ["feed"], "watch": ["watch", "--once"]}
    count = 0
    for way, words in ways.items():
        for name, secret in shown.items():
            for again in ["", "going on"] if words[0] == "crawl" else [""]:
                state = ["--state", f"{way}-{name}", "--per-host-delay", "0"]
                state = state if words[0] == "crawl" else []
                line = [*words, *state, "-k", *secret, *urls]
                subprocess.run([options.smallweb, *line], stdin=subprocess.DEVNULL, timeout=60,
                               capture_output=True, check=False)
                seen = away.seen + away_web.seen
                if seen:
                    return f"{way}, {name} {again}: the other host saw {seen}", ""
                count += 1
    if not ("certificate" in capsule.seen and len(home_web.seen) > 3):
        return f"the host given saw no secret: {capsule.seen} {home_web.seen}", ""
    return None, f"{count} runs"


def main():
    failures = 0
    for way, kind in itertools.product(options.ways, [Space, WebSpace]):
        if way == "secrets" and kind is WebSpace:
            continue
        with tempfile.TemporaryDirectory(prefix="smallweb-truth.") as work:
            for name in ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
                         "XDG_CACHE_HOME"]:
                os.environ[name] = work
            os.chdir(work)
            # What pages embed is for mirrors and checks.
            WebSpace.embeds = way not in ("archive", "records")
            space = [] if way == "secrets" else [kind(options.pages, failing=True)]
            problem, report = globals()[way](*space)
            os.chdir("/")
        failures += problem is not None
        word = "not ok" if problem else "skipped" if report.startswith("skipped") else "ok"
        name = way if way == "secrets" else f"{way} over {kind.scheme}"
        print(f"{word} - crawl: {name}, {problem or report}", flush=True)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
