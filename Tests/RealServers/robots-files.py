#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the reading of robots files by RFC 9309 with protego's (PyPI), on files that are made up.

usage: robots-files.py SMALLWEB [COUNT [SEED]]

A proxy on loopback has a file for each host, and smallweb asks for eight URLs there. Prints the first
files about which both differ, unless a rule of EXPLANATIONS says why protego does. 100,000 files take
some six minutes."""

import asyncio
import collections
import json
import os
import random
import re
import subprocess
import sys
import threading

try:
    from protego import Protego
except ImportError:
    print("skipped - robots: protego is not installed")
    sys.exit(os.environ.get("CI") == "true")

BATCH, URLS = 2000, 8
# Each character in its spellings: those of a pattern, those of a URL.
SAME = [(s.split(), (u or s).split()) for s, u in [
    ("a %61", ""), ("b", ""), ("c", ""), ("A %41", ""), ("~ %7E %7e", ""), ("- %2D", ""), (".x %2Ex", ""),
    ("ü %C3%BC %c3%bc %C3%bc", ""), ("☃ %E2%98%83 %e2%98%83", ""), ("%F0%9F%8C%B1 🌱", ""),
    ("/", ""), ("/", ""), ("%2F %2f", ""), ("%25", ""), ("%20", ""), ("%2A %2a", "* %2A"), ("?", ""), ("=", ""),
    ("%22", '%22'), ("%7C %7c", "")]]
RARE = [(s.split(), s.split()) for s in
        (":", "@", "!", "&", "+", ",", ";", "'", "(", ")", "%3A %3a", "%40", "%26", "%2B", "%3F", "%3D", "%23")]
RARE += [(["%24"], ["$", "%24"]), (["/index.html"], ["/index.html", "/"]), (["%E2%98"], ["%E2%98", "%E2%98%83"]),
         (["%FF"], ["%FF", "%FE"])]
# What stands in a User-agent line, and the product token to which it amounts. protego takes the whole
# value, and takes `small` for a name of smallweb.
AGENTS = [(a, r or a) for a, r in [
    ("smallweb", ""), ("SmallWeb", ""), ("sMALLWEB", ""), ("*", ""), ("*", ""), ("other", ""), ("smallwebs", ""),
    ("smallweb-news", ""), ("web", ""), ("indexer", ""), ("small", "other"), ("smallweb/1.0", "smallweb"),
    ("SMALLWEB/2", "smallweb"), ("smallweb crawler", "smallweb"), ("Mozilla/5.0 (smallweb)", "other"), ("", "")]]
# Lines that are no rules. protego forgives misspellings and a colon that is not there, which RFC 9309
# lets a crawler do with other records alone, and ends a group at records that it does not know.
NOISE = ["", "", "   ", "# Disallow: /", "Sitemap: http://example.org/sitemap.xml", "sitemap:/a", "Host: example.org",
         "Foo: bar", "Request-rate: 1/10", "Visit-time: 0100-0200", "Clean-param: a /", "Dissallow: /", "Disalow: /",
         "Useragent: smallweb", "User agent: smallweb", "User-agent smallweb", "Disallow /", "Allow /",
         ": /", "/", "Dis allow: /"]
PLAIN = ("sitemap", "host")


class File:
    """A robots file as it is sent, what protego is to read, and URLs."""

    def __init__(self, rng):
        self.rng, self.sent, self.read, self.patterns = rng, "", "", []
        self.units = SAME + rng.sample(RARE, 3) if rng.random() < 0.25 else SAME
        self.eol = rng.choice(["\n", "\n", "\r\n", "\r", ""])
        for _ in range(rng.choice([0, 0, 0, 1, 2])):
            self.rule()
        for _ in range(rng.randint(1, 4)):
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                self.line(rng.choice(["User-agent", "user-agent", "USER-AGENT"]), *rng.choice(AGENTS))
                self.noise(0.15)
            for _ in range(rng.choice([0, 1, 1, 2, 3, 5])):
                self.rule()
                self.noise(0.2)
        if rng.random() < 0.1:
            self.sent = self.sent.rstrip("\r\n")
        self.body = self.sent.encode("utf-8-sig" if rng.random() < 0.1 else "utf-8")
        self.urls = [self.url() for _ in range(URLS)]

    def line(self, field, value, read=None):
        rng, gap = self.rng, lambda: self.rng.choice(["", "", "", " ", "\t", "  "])
        form = gap() + field + gap() + ":" + rng.choice([" ", " ", "", "\t "]) + "%s" + gap() \
            + rng.choice(["", "", "", "", "# b", " #: /", "#"]) + (self.eol or rng.choice(["\n", "\r\n", "\r"]))
        self.sent += form % value
        self.read += form % (value if read is None else read)

    def noise(self, share):
        if self.rng.random() < share:
            line = self.rng.choice(NOISE)
            self.sent += line + (self.eol or "\n")
            if line.strip() == "" or line[0] == "#" or line.lower().split(":")[0] in PLAIN:
                self.read += line + (self.eol or "\n")

    def rule(self):
        rng, field = self.rng, self.rng.choice(["Disallow", "Disallow", "disallow", "Allow", "ALLOW", "allow"])
        if rng.random() < 0.08:
            return self.line(field, "")
        if self.patterns and rng.random() < 0.4:
            units = rng.choice(self.patterns)[:rng.randint(1, 6)]
        else:
            units = [rng.choice(self.units) for _ in range(rng.randint(0, 5))]
        units = [None if rng.random() < 0.12 else unit for unit in units]
        self.patterns.append(units)
        value = "".join("*" if unit is None else rng.choice(unit[0]) for unit in units)
        value = rng.choice(["/"] * 16 + ["", "*", "/*"]) + value + rng.choice(["", "", "", "", "$", "*", "*$"])
        # No end of a line, though Python takes them for one.
        odd = rng.choice("\x0b\x0c\x85\u2028") if rng.random() < 0.01 else ""
        escaped = "".join(f"%{byte:02X}" for byte in odd.encode())
        self.line(field, value[:1] + odd + value[1:], value[:1] + escaped + value[1:])

    def url(self):
        rng, text = self.rng, ""
        units = rng.choice(self.patterns) if self.patterns and rng.random() < 0.9 else []
        for unit in units:
            for other in [unit] if unit else [rng.choice(self.units) for _ in range(rng.randint(0, 2))]:
                text += rng.choice(other[1]) if rng.random() < 0.95 else ""
        for _ in range(rng.choice([0, 0, 1, 2])):
            text += rng.choice(rng.choice(self.units)[1])
        return "/" + text if rng.random() < 0.995 else "/robots.txt"


RESERVED = re.compile("%(21|23|26|27|28|29|2B|2C|3A|3B|3D|3F|40)", re.I)


def by_octets(file, url):
    """What protego says if it does not count a reserved character as three octets."""
    rules = Protego.parse(file.read)
    for group in rules._user_agents.values():
        for rule in group._rules:
            rule.value.priority = len(RESERVED.sub("x", rule.value._pattern))
        group.finalize_rules()
    return rules.can_fetch(url, "smallweb")


# Why protego differs: by design, or since RFC 9309 is unclear.
EXPLANATIONS = {
    # A pattern that ends in `$` is a second one to protego, with the character `$`.
    "dollar": lambda file, url, ours: re.search(r"[$]|%24", url) and re.search(r"[$][ \t]*([#\r\n]|\Z)", file.sent),
    # `Allow: /index.html` allows `/` as well.
    "index": lambda file, url, ours: not ours and url.endswith("/") and "/index.html" in file.read,
    # Bytes that are not UTF-8 are all the same to protego.
    "utf-8": lambda file, url, ours: re.search("%(FF|E2%98(?!%83))", file.read + "\n" + url, re.I),
    # In a query `/` and `%2F` are the same, by the second example of RFC 9309 section 2.2.2.
    "query": lambda file, url, ours: re.search("[?].*(/|%2F)", url, re.I),
    # RFC 9309 does not say whether `:` and `%3A` are the same; protego takes them for the same.
    "reserved": lambda file, url, ours: RESERVED.search(file.read + url),
    # `:` is `%3A` to protego, in which `*A` then finds its `A`.
    "escape": lambda file, url, ours: re.search("[:@!&+,;'()?*$]", url) and re.search("[*](A|%41)", file.read),
    "octets": lambda file, url, ours: by_octets(file, url) == ours,
}


class Proxy(asyncio.Protocol):
    files, asked = {}, collections.Counter()

    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
            _, _, host, path = head.split(b" ", 2)[1].split(b"/", 3)
            number, is_file = int(host[1:].split(b".")[0]), path == b"robots.txt"
            self.asked[number] += 1
            body = self.files[number].body if is_file else b"x"
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b"
                                 % (len(body), body))


def listen():
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(Proxy, "127.0.0.1", 0))
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return server.sockets[0].getsockname()[1]


def main(smallweb, count=2000, seed=1):
    proxy, seen, faults = f"http://127.0.0.1:{listen()}", collections.Counter(), 0
    command = [smallweb, "get", "--no-config", "--robots", "--as", "indexer", "--json", "--fields", "n,outcome",
               "--body", "none", "--per-host-delay", "0", "-s", "-j", "64", "-x", proxy, "-"]
    for first in range(0, count, BATCH):
        files = {n: File(random.Random(f"{seed} {n}")) for n in range(first, min(first + BATCH, count))}
        Proxy.files, asked = files, Proxy.asked
        asked.clear()
        urls = [(n, f"http://n{n}.example.org{url}") for n, file in files.items() for url in file.urls]
        lines = subprocess.run(command, input="\n".join(url for _, url in urls).encode(), capture_output=True).stdout
        records = [json.loads(line) for line in lines.splitlines()]
        outcomes = {record["n"]: record["outcome"] for record in records if "outcome" in record}
        rules = {n: Protego.parse(file.read) for n, file in files.items()}
        for index, (n, url) in enumerate(urls):
            outcome, theirs = outcomes.get(index), rules[n].can_fetch(url, "smallweb")
            asked[n] -= outcome == "ok"
            why = outcome if outcome not in ("ok", "robots") else None
            if outcome == ("ok" if theirs else "robots"):
                seen["allowed" if theirs else "forbidden"] += 1
                continue
            why = why or next((w for w, holds in EXPLANATIONS.items() if holds(files[n], url, outcome == "ok")), None)
            if outcome in ("ok", "robots") and why:
                seen[why] += 1
                continue
            faults += 1
            if faults <= 10:
                print(f"{n}: smallweb {outcome}, protego {theirs}: {url}\n    {files[n].body!r}")
        # One request for the file, and none for what it forbids.
        faults += sum(times != 1 for times in asked.values())
    print(f"{'not ok' if faults else 'ok'} - robots: {count} files of seed {seed} as protego reads them, {faults} faults:", ", ".join(f"{w} {t}" for w, t in seen.most_common()))
    return faults > 0


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
