#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A Guppy server on 127.0.0.1 whose network loses, doubles and reorders datagrams.

usage: guppy-server.py [--port N] [--loss PERCENT] [--double PERCENT] [--reorder MILLISECONDS]
                       [--seed N] [--window N] [--resend MILLISECONDS] [--chunk BYTES]
       guppy-server.py --content N

The port, picked by the system unless given, is printed. What befalls the nth datagram of either
direction follows from the seed. With --content, prints what /bytes/N is.

    /bytes/N        N bytes, which follow from N
    /greet          asks for input, and greets
    /old            redirects to /bytes/10
    /silent         nothing
    /cut/N          N bytes, and never the end
    /low/N          N bytes from the packet 39 or 41 on
    else            an error
"""

import argparse
import hashlib
import heapq
import random
import select
import socket
import sys
import time
from urllib.parse import unquote, urlsplit


def content(size):
    blocks = (hashlib.sha256(b"%d/%d" % (size, block)).digest() for block in range(size // 32 + 1))
    return b"".join(blocks)[:size]


class Network:
    """Between the socket and the server: what is sent comes later, twice, or not at all."""

    def __init__(self, plan):
        self.plan = plan
        self.random = random.Random(plan.seed)
        self.flying = []
        self.count = 0

    def send(self, datagram, place):
        self.fly(datagram, place, time.monotonic())

    def fly(self, datagram, place, now):
        copies = 2 if self.random.random() * 100 < self.plan.double else 1
        for _ in range(copies):
            delay = self.random.random() * self.plan.reorder / 1000
            if self.random.random() * 100 < self.plan.loss:
                continue
            self.count += 1
            heapq.heappush(self.flying, (now + delay, self.count, datagram, place))

    def landed(self, now):
        while self.flying and self.flying[0][0] <= now:
            yield heapq.heappop(self.flying)[2:]

    def pause(self, now):
        return max(0, self.flying[0][0] - now) if self.flying else 3600


class Session:
    """One reply that is under way to one place."""

    lifetime = 30

    def __init__(self, chunks, first, has_end):
        self.chunks = chunks
        self.first = first
        self.waiting = set(range(len(chunks) + has_end))
        self.sent = {}
        self.began = time.monotonic()

    def packet(self, index):
        number = self.first + index
        if index == len(self.chunks):
            return b"%d\r\n" % number
        kind = b" application/octet-stream" if index == 0 else b""
        return b"%d%s\r\n%s" % (number, kind, self.chunks[index])

    def due(self, now, plan):
        """What has not been acknowledged in time, within the window; and when to ask again."""
        packets, soonest = [], now + plan.resend / 1000
        for index in sorted(self.waiting)[: plan.window]:
            again = self.sent.get(index, 0) + plan.resend / 1000
            if again <= now:
                self.sent[index] = now
                packets.append(self.packet(index))
            else:
                soonest = min(soonest, again)
        return packets, soonest

    def acknowledge(self, number):
        self.waiting.discard(number - self.first)


def reply(url, plan, order):
    """A datagram, a session, or None."""
    parts = urlsplit(url)
    words = parts.path.strip("/").split("/")
    if words[0] in ("bytes", "cut", "low") and len(words) == 2 and words[1].isdigit():
        body = content(int(words[1]))
        chunks = [body[at : at + plan.chunk] for at in range(0, len(body), plan.chunk)] or [b""]
        first = order.choice((39, 41)) if words[0] == "low" else order.randint(6, 1 << 30)
        return Session(chunks, first, words[0] != "cut")
    if words == ["greet"]:
        if not parts.query:
            return b"1 Your name\r\n"
        return Session([f"Hello {unquote(parts.query)}\n".encode()], 566837578, True)
    if words == ["old"]:
        return b"3 /bytes/10\r\n"
    if words == ["silent"]:
        return None
    return b"4 Not found\r\n"


def serve(plan):
    server = socket.socket(type=socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    server.bind(("127.0.0.1", plan.port))
    print(server.getsockname()[1], flush=True)
    server.setblocking(False)
    arriving, leaving = Network(plan), Network(plan)
    order = random.Random(plan.seed)
    sessions = {}
    asleep_until = 0
    while True:
        now = time.monotonic()
        pause = min(arriving.pause(now), leaving.pause(now), max(0, asleep_until - now))
        # An idle server has nothing to resend.
        is_idle = not (sessions or arriving.flying or leaving.flying)
        select.select([server], [], [], None if is_idle else pause)
        now = time.monotonic()
        while True:
            try:
                arriving.fly(*server.recvfrom(65536), now)
            except BlockingIOError:
                break
            except ConnectionError:
                continue
        for datagram, place in arriving.landed(now):
            line = datagram.removesuffix(b"\r\n")
            if place in sessions:
                if line.isdigit():
                    sessions[place].acknowledge(int(line))
            elif line.startswith(b"guppy://"):
                answer = reply(line.decode(), plan, order)
                if isinstance(answer, Session):
                    sessions[place] = answer
                elif answer:
                    leaving.send(answer, place)
        asleep_until = now + 3600
        for place, session in list(sessions.items()):
            if not session.waiting or now > session.began + session.lifetime:
                del sessions[place]
                continue
            packets, again = session.due(now, plan)
            asleep_until = min(asleep_until, again)
            for packet in packets:
                leaving.send(packet, place)
        for datagram, place in leaving.landed(time.monotonic()):
            try:
                server.sendto(datagram, place)
            except (BlockingIOError, ConnectionError):
                pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--loss", type=float, default=0)
    parser.add_argument("--double", type=float, default=0)
    parser.add_argument("--reorder", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--window", type=int, default=32)
    parser.add_argument("--resend", type=float, default=100)
    parser.add_argument("--chunk", type=int, default=1024)
    parser.add_argument("--content", type=int)
    plan = parser.parse_args()
    if plan.content is not None:
        sys.stdout.buffer.write(content(plan.content))
        sys.exit()
    try:
        serve(plan)
    except KeyboardInterrupt:
        pass
