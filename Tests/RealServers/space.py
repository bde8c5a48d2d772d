#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A space of many hosts whose pages are a function of host and path, and the judge of a crawl of it.

usage: space.py serve SPACE LOG [--seeds FILE]
       space.py judge LOG SPACE [BAR]...
       space.py selftest

SPACE is --scheme gopher|gemini|http --hosts N --pages N and what `space.py serve --help` has; serve and
judge must be given the same. The hosts are addresses, one after the other, of 127.0.0.0/8, or of another
network that the loopback has (ip route add local 11.0.0.0/8 dev lo). `serve` prints "ready PORT SEEDURL",
writes all home pages into FILE, notes each request in LOG, and ends when its standard input does. `judge`
prints what was asked for in vain, too early, or twice; its exit status is 1 when a bar is missed.

Places are of Zipf's sizes. The smallest have odd robots files, all others a usual one. The traps without
end are in place 0, the one that says "slow down" in place 1.
"""

import argparse
import asyncio
import collections
import hashlib
import ipaddress
import os
import re
import resource
import selectors
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures

HIDDEN = "Disallow: /private/\n"
ALL = "User-agent: *\n" + HIDDEN
P, C, A = "/private/", "/cgi-bin/", "/attic/"
# By name: the text of a robots file, or another reply; what it forbids by the grammar of 1994, and, where
# that differs, by RFC 9309.
ODD = {
    "no agents": (HIDDEN, [P], []),
    "byte order mark": ("\ufeff" + ALL, [P]),
    "CRLF": (ALL.replace("\n", "\r\n"), [P]),
    "CR": (ALL.replace("\n", "\r"), [P]),
    "rules before agents": (HIDDEN + "\nUser-agent: *\nDisallow: /cgi-bin/\n", [P, C], [C]),
    "roles": ("User-agent: archiver\nDisallow: /attic/\n\nUser-agent: indexer\nUser-agent: researcher\n"
              "Disallow: /cgi-bin/\n\n" + ALL, [A, C, P], [P]),
    "delay": ("User-agent: *\nCrawl-delay: %s\n" + HIDDEN, [P]),
    "closed": ("User-agent: *\nDisallow: /\n", [""]),
    "missing": (("missing", ""), []),
    "temporary": (("temporary", ""), [""]),
    "page": (("page", []), []),
    "huge line": (ALL + "Disallow: /" + "x" * (1 << 20) + "\n", [P]),
    "prompt": (("prompt", ""), []),
    "redirect": (("redirect", "/real-robots.txt"), [P]),
}
ROBOTS = {"robots.txt", "/robots.txt", "/real-robots.txt"}
TRAPS = re.compile(r"/(cal|deep|a|s|r|grow|slow|endless|ask|user)/|/maze\?|/trip")
STRANGER, PORTS = "127.254.254.254", (22, 25, 6379)
GEMINI = {"page": "20 text/gemini", "text": "20 text/plain", "missing": "51 not found",
          "temporary": "41 later", "prompt": "10 words?", "redirect": "31 %s", "slow": "44 1",
          "endless": "20 text/plain"}
HTTP = {"page": "200 OK\r\nContent-Type: text/html", "text": "200 OK\r\nContent-Type: text/plain",
        "missing": "404 Not Found", "temporary": "503 Later", "prompt": "401 Who?",
        "redirect": "301 There\r\nLocation: %s", "slow": "429 Slow\r\nRetry-After: 1",
        "endless": "200 OK\r\nContent-Type: text/plain"}


class Space:
    def __init__(self, options):
        self.scheme, self.hosts, self.port = options.scheme, options.hosts, 0
        self.base, self.delay = int(ipaddress.IPv4Address(options.base)), options.crawl_delay
        share = options.pages / sum(1 / (i + 1) for i in range(self.hosts))
        self.sizes = [max(4, int(share / (i + 1))) for i in range(self.hosts)]
        self.sizes[0] = max(4, self.sizes[0] + options.pages - sum(self.sizes))
        plain = self.hosts - round(self.hosts * options.odd)
        self.kinds = [None if i < plain else list(ODD)[(self.hosts - 1 - i) % len(ODD)]
                      for i in range(self.hosts)]
        self.slowed = collections.Counter()

    def host(self, i):
        return str(ipaddress.IPv4Address(self.base + i))

    def index(self, host):
        i = int(ipaddress.IPv4Address(host)) - self.base
        return i if 0 <= i < self.hosts else None

    def url(self, i):
        return f"{self.scheme}://{self.host(i)}:{self.port}/"

    def rules(self, i):
        """The beginnings of paths that the robots file of place i forbids."""
        odd = ODD[self.kinds[i]] if self.kinds[i] else (None, [P])
        return odd[-1] if self.scheme == "http" else odd[1]

    def forbids(self, i, path):
        """True also for what no crawler asks for: an answer to a prompt, and a link with a user."""
        asks = r"/ask/|/user/" if self.scheme == "gopher" else r"/ask/.*\?|/user/"
        return bool(re.match(asks, path)) or any(path.startswith(rule) for rule in self.rules(i))

    def lookups(self, i):
        """The robots files that must be asked for before anything else."""
        if self.scheme != "gopher":
            return {"/robots.txt"}
        text = self.robots(i, "robots.txt")[1]
        return {"robots.txt"} | (set() if "User-agent" in text else {"/robots.txt"})

    def robots(self, i, path):
        if self.kinds[i] is None:
            # Every second gopher place has it at another selector.
            return ("missing", "") if i % 2 and path == "robots.txt" else ("text", ALL)
        reply = ALL if path == "/real-robots.txt" else ODD[self.kinds[i]][0]
        if isinstance(reply, str):
            return "text", reply.replace("%s", str(self.delay))
        return ("text", ALL) if reply[0] == "redirect" and self.scheme == "gopher" else reply

    @staticmethod
    def path(n):
        return f"/d{n // 500}/p{n}" if n else "/"

    def number(self, i, path):
        """The number of an honest page, or None."""
        match = re.fullmatch(r"/d(\d+)/p(\d+)", path)
        n = 0 if path == "/" else int(match[2]) if match else -1
        return n if 0 <= n < self.sizes[i] and self.path(n) == path else None

    def reply(self, i, path):
        """The kind of a reply, and its text, links as (host, path), or target."""
        if path in ROBOTS:
            return self.robots(i, path)
        n, here = self.number(i, path), self.host(i)
        if n is not None:
            return "page", self.links(i, n) + (self.traps(i) if n == 0 else [])
        word, _, rest = path[1:].partition("?" if path.startswith("/maze?") else "/")
        last = int(re.search(r"\d*$", path)[0][-15:] or 0)
        if word == "cal":
            return "page", [(here, f"/cal/{last + 1}"), (here, f"/cal/{max(0, last - 1)}")]
        if word == "maze":
            return "page", [(here, f"/maze?q={2 * last + k}") for k in (0, 1)]
        if word == "s":
            session = hashlib.sha256(rest.encode()).hexdigest()[:12]
            return "page", [(here, f"/s/{session}/{k}") for k in (1, 2)]
        if word == "a":
            return "page", [(here, path + "a/")]
        if word in ("deep", "grow"):
            kind = "redirect" if word == "grow" and self.scheme != "gopher" else "page"
            further = f"{path}/{last + 1}"
            return kind, further if kind == "redirect" else [(here, further)]
        if word == "r" and self.scheme != "gopher":
            return "redirect", f"/r/{3 - last}"
        if word == "slow" and self.scheme != "gopher":
            self.slowed[path] += 1
            return ("slow", "") if self.slowed[path] < 3 else ("text", path)
        if word in ("endless", "ask"):
            return ("endless" if word == "endless" else "prompt"), ""
        return ("text", path) if word in ("private", "cgi-bin", "attic") else ("missing", "")

    def links(self, i, n):
        size, here = self.sizes[i], self.host(i)
        chance = hashlib.sha256(b"%d/%d" % (i, n)).digest()
        numbers = struct.unpack(">8L", chance)
        inner = [k if k < size else numbers[k % 5] % size for k in range(5 * n + 1, 5 * n + 6)]
        inner += [numbers[k] % size for k in (5, 6)] + [(numbers[7] >> 7) % size, 0]
        # The first pages lead to the homes of two more places, so that one leads to all.
        other = 2 * i + 1 + n if n < 2 else self.hosts
        other, m = (other, 0) if other < self.hosts else (numbers[0] % self.hosts, numbers[7])
        links = [(here, self.path(m)) for m in inner]
        links.append((self.host(other), self.path(m % self.sizes[other])))
        hidden = [(here, word + str(n)) for word in (P, C, A)] if n % 50 == 0 else []
        return links + hidden

    def traps(self, i):
        here = self.host(i)
        if i == 1:
            return [(here, f"/slow/{k}") for k in range(5)]
        if i:
            return []
        paths = ["/cal/1", "/deep/1", "/a/", "/s/0/1", "/maze?q=1", "/r/1", "/grow/1", "/endless/",
                 "/ask/1", "user@/user/1"]
        return [(here, path) for path in paths] + [(STRANGER, "/trip")] + [
            (f"{here}:{port}", "/trip") for port in PORTS if self.scheme == "gopher"]

    def encode(self, kind, body):
        if kind == "page":
            lines = [self.line(*link) for link in body]
            head = "iHello\t\terror.host\t1" if self.scheme == "gopher" else "# Hello"
            body = "\r\n".join([head] + lines) + "\r\n"
        if self.scheme == "gopher":
            if kind in ("prompt", "endless", "temporary"):
                return b""
            return (("3not found\t\terror.host\t1" if kind == "missing" else body) + "\r\n.\r\n").encode()
        head = GEMINI[kind] + "\r\n" if self.scheme == "gemini" else \
            f"HTTP/1.1 {HTTP[kind]}\r\nConnection: close\r\n\r\n"
        return head.encode() % body.encode() if kind == "redirect" else (head + body).encode()

    def line(self, host, path):
        host, _, port = host.partition(":")
        port = port or self.port
        user, _, path = path.rpartition("@")
        if self.scheme == "gopher":
            item = "7" if path.startswith("/ask") else "0" if path.startswith("/endless") else "1"
            if user:
                return f"hpage\tURL:gopher://{user}@{host}:{port}/1{path}\t{host}\t{port}"
            return f"{item}page\t{'' if path == '/' else path}\t{host}\t{port}"
        url = f"{self.scheme}://{user + '@' if user else ''}{host}:{port}{path}"
        return f'<a href="{url}">page</a>' if self.scheme == "http" else f"=> {url} page"


class Watch(selectors.DefaultSelector):
    """Knows since when, at the earliest, what it reports can have been there."""
    since = looked = time.monotonic()

    def select(self, timeout=None):
        self.since, self.looked = self.looked, time.monotonic()
        return super().select(0.002 if timeout is None else min(timeout, 0.002))


class Server:
    def __init__(self, space, log):
        self.space, self.watch, self.tls = space, Watch(), None
        # A client that has its page may look for it, or empty the file.
        self.log = open(log, "a", buffering=1, encoding="utf-8")
        self.loop = asyncio.SelectorEventLoop(self.watch)
        self.tasks = set()
        if space.scheme == "gemini":
            with tempfile.TemporaryDirectory() as directory:
                key, certificate = directory + "/key", directory + "/certificate"
                subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                                "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out",
                                certificate, "-days", "30", "-subj", "/CN=space"], check=True,
                               stderr=subprocess.DEVNULL)
                self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                self.tls.load_cert_chain(certificate, key)

    def listen(self):
        """The same port, which the system picks, on each address."""
        hosts = [self.space.host(i) for i in range(self.space.hosts)] + [STRANGER]
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        for _ in range(20):
            listeners = [socket.create_server((hosts[0], 0), backlog=1024)]
            self.space.port = listeners[0].getsockname()[1]
            try:
                listeners += [socket.create_server((host, self.space.port), backlog=1024)
                              for host in hosts[1:]]
                break
            except OSError:
                for listener in listeners:
                    listener.close()
        else:
            sys.exit("space.py: no port is free on every address")
        for port in PORTS:
            try:
                listeners.append(socket.create_server((hosts[0], port)))
            except OSError:
                print(f"space.py: without port {port}", file=sys.stderr)
        for listener in listeners:
            listener.setblocking(False)
            self.loop.add_reader(listener, self.accept, listener)

    def accept(self, listener):
        since = self.watch.since
        while True:
            try:
                connection = listener.accept()[0]
            except OSError:
                return
            connection.setblocking(False)
            task = self.loop.create_task(self.serve(connection, since, time.monotonic()))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def note(self, host, path, times, kind):
        self.log.write("%.6f\t%.6f\t%s\t%s\t%s\n" % (*times, host, kind, path))

    async def serve(self, connection, *times):
        host, port = connection.getsockname()
        space, i = self.space, self.space.index(host)
        if i is None or port != space.port:
            self.note(host, f"/trip/{port}", times, "trip")
            return connection.close()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        transport = None
        try:
            transport, _ = await self.loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=self.tls)
            writer = asyncio.StreamWriter(transport, protocol, reader, self.loop)
            end = b"\r\n\r\n" if space.scheme == "http" else b"\n"
            path = (await reader.readuntil(end)).decode("utf-8", "replace").split("\r")[0]
            if space.scheme == "http":
                path = path.split(" ")[1]
            elif space.scheme == "gemini":
                path = re.sub(r"^gemini://[^/?]*", "", path)
            path = (path or "/").replace("%3F", "?").replace("\t", "%09")
            kind, body = space.reply(i, path)
            self.note(host, path, times, kind)
            if kind == "temporary" and space.scheme == "gopher":
                # A reset: gopher cannot say it otherwise.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return transport.abort()
            writer.write(space.encode(kind, body))
            while kind == "endless" and not transport.is_closing():
                writer.write(b"and so on\n" * 4096)
                # While there is room, `drain` does not let the loop see that the client has gone.
                await asyncio.sleep(0)
                await writer.drain()
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        except (OSError, ValueError, IndexError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # A client that was killed, or has had enough. A socket is its transport's to close.
            if transport:
                transport.abort()

    def run(self, seeds):
        self.listen()
        if seeds:
            with open(seeds, "w", encoding="utf-8") as file:
                file.writelines(self.space.url(i) + "\n" for i in range(self.space.hosts))
        print("ready", self.space.port, self.space.url(0), flush=True)
        threading.Thread(target=self.wait, daemon=True).start()
        self.loop.run_forever()
        self.log.close()
        # Tasks that still have clients are not waited for.
        os._exit(0)

    def wait(self):
        sys.stdin.read()
        self.loop.call_soon_threadsafe(self.loop.stop)


def judge(space, options):
    with open(options.log, encoding="utf-8") as file:
        requests = [line.rstrip("\n").split("\t") for line in file]
    requests.sort(key=lambda request: float(request[1]))
    found = collections.defaultdict(list)
    last, known, honest, trapped = {}, collections.defaultdict(set), set(), 0
    asked, robots, pages = collections.Counter(), collections.Counter(), 0
    slow = collections.defaultdict(lambda: 1)
    lookups = [space.lookups(i) for i in range(space.hosts)]
    for since, until, host, kind, path in requests:
        since, until, i = float(since), float(until), space.index(host)
        name = f"{host} {path}"
        trapped += bool(TRAPS.match(path))
        if kind == "trip" or i is None or i >= options.places:
            found["forbidden requests"].append(name)
            continue
        if path in ROBOTS:
            robots[i, path] += 1
            known[i].add(path)
        else:
            asked[i, path] += 1
            pages += 1
            if not lookups[i] <= known[i]:
                found["requests before the place's robots"].append(name)
            if space.forbids(i, path):
                found["forbidden requests"].append(name)
            elif space.number(i, path) is not None:
                honest.add((i, path))
        if i in last:
            pause = max(options.delay * slow[i], last[i][1])
            if space.kinds[i] == "delay" and path not in ROBOTS and lookups[i] <= known[i]:
                pause = max(pause, space.delay)
            # A gap is shorter for certain only by the widest times that the log allows.
            if until - last[i][0] < pause - options.slack:
                found["requests earlier than the pace"].append(
                    f"{name}: {until - last[i][0]:.3f} s, not {pause} s")
        last[i] = since, 1 if kind == "slow" else 0
        # A run that is started again may have forgotten this.
        slow[i] = 2 if kind == "slow" and not options.kills else slow[i]
    for (i, path), count in asked.items():
        if count > 1 and not path.startswith("/slow/"):
            found["pages asked twice"] += [f"{space.host(i)} {path}"] * (count - 1)
    for (i, path), count in robots.items():
        most = 1 + (options.kills if space.kinds[i] == "temporary" else 0)
        found["robots looked up again"] += [f"{space.host(i)} {path}"] * max(0, count - most)
    reachable = sum(space.sizes[i] for i in range(min(options.places, space.hosts)) if "" not in space.rules(i))
    per_cent = 100 * len(honest) / reachable
    in_traps = 100 * trapped / max(1, len(requests))
    fails = False
    bars = {"forbidden requests": 0, "requests before the place's robots": 0,
            "requests earlier than the pace": 0, "robots looked up again": options.kills * options.jobs,
            "pages asked twice": options.kills * options.jobs}
    for name, most in bars.items():
        print(f"{name}: {len(found[name])} (at most {most})")
        if len(found[name]) > most:
            fails = True
            print(*(f"    {example}" for example in found[name][:5]), sep="\n")
    print(f"honest pages: {len(honest)} of {reachable}, {per_cent:.2f} % (at least {options.honest_min})")
    print(f"requests into traps: {in_traps:.2f} % of {len(requests)} (at most {options.traps_max})")
    return fails or per_cent < options.honest_min or in_traps > options.traps_max


class Client:
    """A crawler for the self-test: one that obeys, or one that does not."""

    def __init__(self, space, obeys, delay, pages_max):
        self.space, self.obeys, self.delay, self.pages_max = space, obeys, delay, pages_max
        self.next, self.seen, self.queries = collections.Counter(), set(), collections.Counter()
        self.rules, self.tls = {}, ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        self.done, self.pace = collections.Counter(), {}

    def fetch(self, host, path):
        """The status, such as 2, and the body or the target."""
        pace = self.pace.get(host, self.delay)
        if self.obeys:
            time.sleep(max(0, self.next[host] - time.monotonic()))
        self.next[host] = time.monotonic() + pace
        scheme, place, data = self.space.scheme, f"{host}:{self.space.port}", b""
        path = "" if scheme == "gopher" and path == "/" else path
        request = {"gopher": path, "gemini": f"gemini://{place}{path}",
                   "http": f"GET {path} HTTP/1.1\r\nHost: {place}\r\n"}[scheme] + "\r\n"
        try:
            with socket.create_connection((host, self.space.port), 5) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if scheme == "gemini":
                    connection = self.tls.wrap_socket(connection)
                connection.sendall(request.encode())
                while len(data) < 1 << 21 and (piece := connection.recv(1 << 16)):
                    data += piece
                connection.close()
        except OSError:
            return "4", ""
        text = data.decode("utf-8", "ignore")
        if scheme == "gopher":
            return ("5" if text.startswith("3") else "2"), text.removesuffix("\r\n.\r\n")
        head, _, body = text.partition("\r\n\r\n" if scheme == "http" else "\r\n")
        status = head.removeprefix("HTTP/1.1 ")[:2] if scheme == "http" else head[:2]
        status = {"50": "4", "40": "5", "42": "44"}.get(status, status) if scheme == "http" else status
        if status == "44":
            self.pace[host] = 2 * self.delay
            self.next[host] = time.monotonic() + 1
            return self.fetch(host, path) if self.obeys else ("4", "")
        target = re.search(r"Location: (.*)", head) if scheme == "http" else re.match(r"31 (.*)", head)
        return status[:1], target[1].strip() if target else body

    def robots(self, host):
        """The beginnings that are forbidden, by either grammar, as a few lines can read it."""
        status, text, held, agents, naming = "5", "", [], [""], False
        for path in ["robots.txt", "/robots.txt"][self.space.scheme != "gopher":]:
            status, text = self.fetch(host, path)
            if "User-agent" in text or status == "4":
                break
        if status == "3":
            status, text = self.fetch(host, text)
        if status != "2":
            return [""] if status == "4" else []
        ours = ["*"] if self.space.scheme == "http" else ["*", "", "archiver", "indexer", "researcher"]
        for line in re.split(r"[\r\n]+", text.removeprefix("\ufeff")):
            name, _, value = (part.strip() for part in line.partition(":"))
            if name == "User-agent":
                agents, naming = (agents if naming else []) + [value], True
            elif value:
                naming = False
                if name == "Disallow" and any(agent in ours for agent in agents):
                    held.append(value)
                if name == "Crawl-delay":
                    self.pace[host] = float(value)
                    self.next[host] += float(value)
        return held

    def wants(self, host, path, depth):
        segments = [segment for segment in path.split("/") if segment]
        page, _, query = path.partition("?")
        if depth > 4 and "/grow" in path or len(segments) > 32 or path.startswith("/ask"):
            return False
        if max(collections.Counter(segments).values(), default=0) > 2 or self.done[host] >= self.pages_max:
            return False
        self.queries[page] += bool(query)
        return self.queries[page] <= 200

    def crawl(self):
        waiting = collections.deque((self.space.host(i), "/", 0) for i in range(self.space.hosts))
        self.seen.update((host, path) for host, path, _ in waiting)
        while waiting:
            host, path, depth = waiting.popleft()
            if self.obeys and self.space.index(host) is None:
                continue
            if self.obeys and host not in self.rules:
                self.rules[host] = self.robots(host)
            if self.obeys and (any(path.startswith(rule) for rule in self.rules[host])
                               or not self.wants(host, path, depth)):
                continue
            if not self.obeys and self.done[host] >= 2 * self.pages_max:
                continue
            self.done[host] += 1
            status, body = self.fetch(host, path)
            pattern = r"(?m)^([017])[^\t]*\t([^\t]*)\t([^\t]*)\t(\d+)"
            links = [(match[3], match[2] or "/", int(match[4])) for match in re.finditer(pattern, body)] \
                if self.space.scheme == "gopher" else \
                [(match[1], match[3], int(match[2])) for match in
                 re.finditer(
                     r'(?m)^(?:=> |<a href=")\w+://([\d.]+):(\d+)([^\s"]*)', body)]
            if status == "3":
                links = [(host, body, self.space.port)]
            for name, link, port in links:
                key = (name, link)
                if key not in self.seen and port == self.space.port:
                    self.seen.add(key)
                    waiting.append((name, link, depth + 1))


def play(scheme, obeys, log):
    """The space and the bars for a crawl of our own, once it is over."""
    words = ["--scheme", scheme, "--hosts", "18", "--pages", "400", "--odd", "0.78",
             "--crawl-delay", "0.1"]
    server = subprocess.Popen([sys.executable, __file__, "serve", *words, log], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    options = arguments().parse_args(["judge", log, *words, "--delay", "0.04", "--slack", "0.02", "--traps-max", "12"])
    space = Space(options)
    space.port = int(server.stdout.readline().split()[1])
    Client(space, obeys, 0.04, space.sizes[0] + 30).crawl()
    server.stdin.close()
    server.wait()
    return space, options


def selftest():
    failed = 0
    names = [(scheme, obeys) for scheme in ("gopher", "gemini", "http") for obeys in (True, False)]
    with tempfile.TemporaryDirectory() as directory, futures.ThreadPoolExecutor() as pool:
        plays = [pool.submit(play, *name, f"{directory}/{n}") for n, name in enumerate(names)]
        for (scheme, obeys), result in zip(names, plays):
            good = bool(judge(*result.result())) != obeys
            failed += not good
            word = "obeys passes" if obeys else "does not obey is found out"
            print(f"{'ok' if good else 'not ok'} - space.py: {scheme}: a crawler that {word}")
    return failed


def arguments():
    space = argparse.ArgumentParser(add_help=False)
    space.add_argument("--scheme", choices=["gopher", "gemini", "http"], default="gopher")
    space.add_argument("--hosts", type=int, default=20)
    space.add_argument("--pages", type=int, default=2000, help="honest pages of all places")
    space.add_argument("--base", default="127.1.0.1", help="the address of the first host")
    space.add_argument("--odd", type=float, default=0.1, help="places with an odd robots file")
    space.add_argument("--crawl-delay", type=float, default=2, help="of a place with that line")
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", parents=[space])
    serve.add_argument("log")
    serve.add_argument("--seeds", metavar="FILE")
    bars = commands.add_parser("judge", parents=[space])
    bars.add_argument("log")
    bars.add_argument("--places", type=int, default=1 << 30, help="the first ones are the scope (all)")
    bars.add_argument("--delay", type=float, default=1, help="seconds between requests to a place")
    bars.add_argument("--slack", type=float, default=0.002, help="seconds that a timer may be early")
    bars.add_argument("--kills", type=int, default=0)
    bars.add_argument("--jobs", type=int, default=32)
    bars.add_argument("--honest-min", type=float, default=99.9, metavar="PERCENT")
    bars.add_argument("--traps-max", type=float, default=3, metavar="PERCENT")
    commands.add_parser("selftest")
    return parser


def main():
    options = arguments().parse_args()
    if options.command == "selftest":
        return selftest()
    space = Space(options)
    if options.command == "serve":
        return Server(space, options.log).run(options.seeds)
    return judge(space, options)


if __name__ == "__main__":
    sys.exit(int(main() or 0))
