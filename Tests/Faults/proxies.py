# SPDX-License-Identifier: MIT
"""Proxies for `make soak`: two that carry, and some that no proxy should be like."""

import select
import socket

import hostile
from servers import Threads, line_from


def exactly(stream, count):
    data = b""
    while len(data) < count:
        piece = stream.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def carry(one, other):
    """Moves bytes both ways until both have ended."""
    ends = {one: other, other: one}
    while ends:
        for source in select.select(list(ends), [], [], 30)[0]:
            target = one if source is other else other
            data = source.recv(65_536)
            if data:
                target.sendall(data)
                continue
            del ends[source]
            target.shutdown(socket.SHUT_WR)


def reach(place):
    host, port = place
    return socket.create_connection((host, int(port)), 10)


def socks(stream):
    """SOCKS 5 without authentication (RFC 1928)."""
    exactly(stream, exactly(stream, 2)[1])
    stream.sendall(b"\x05\x00")
    kind = exactly(stream, 4)[3]
    size = {1: 4, 4: 16}.get(kind) or exactly(stream, 1)[0]
    host = exactly(stream, size)
    port = int.from_bytes(exactly(stream, 2), "big")
    family = {1: socket.AF_INET, 4: socket.AF_INET6}.get(kind)
    name = socket.inet_ntop(family, host) if family else host.decode()
    with reach((name, port)) as target:
        stream.sendall(b"\x05\x00\x00\x01" + bytes(6))
        carry(stream, target)


def connect(stream):
    """A tunnel of HTTP (RFC 9110 §9.3.6)."""
    place = line_from(stream).split()[1].decode()
    while line_from(stream).strip():
        pass
    with reach(place.rsplit(":", 1)) as target:
        stream.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        carry(stream, target)


def after_method(reply):
    """Agrees on no authentication, and then says `reply` to the request."""
    def handle(stream):
        exactly(stream, exactly(stream, 2)[1])
        stream.sendall(b"\x05\x00")
        exactly(stream, 4)
        reply(stream)
    return handle


def endless(start, piece):
    def reply(stream, _=None):
        hostile.pour(stream, start, piece)
    return reply


# By scheme of the proxy: what it is like, and how it answers.
RUDE = {
    "socks5h": {
        "silent": hostile.silence,
        "reset": hostile.reset,
        "wants a password": lambda stream: stream.sendall(b"\x05\x02"),
        "garbage": lambda stream: stream.sendall(b"HTTP/1.1 200 OK\r\n\r\n"),
        "refuses": after_method(lambda stream: stream.sendall(b"\x05\x05\x00\x01" + bytes(6))),
        "cut": after_method(lambda stream: stream.sendall(b"\x05\x00")),
        "endless": after_method(endless(b"\x05\x00\x00\x03\xff", b"a" * 255)),
    },
    "http": {
        "silent": hostile.silence,
        "refuses": hostile.after_request(
            lambda stream, _: stream.sendall(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")),
        "garbage": hostile.after_request(lambda stream, _: stream.sendall(b"\x00\xff" * 99)),
        "endless header": hostile.after_request(endless(b"HTTP/1.1 200 OK\r\nX: ", b"a" * 4096)),
        "endless headers": hostile.after_request(
            endless(b"HTTP/1.1 200 OK\r\n", b"X: a\r\n" * 999)),
        "endless 1xx": hostile.after_request(endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 99)),
    },
}


def start(places):
    """Returns the lines of a config file that send the loopback servers of `places`, a pair, through
    a proxy each, and URLs by name that meet rude ones."""
    lines, urls = [], {}
    for scheme, handle, place in [("socks5h", socks, places[0]), ("http", connect, places[1])]:
        proxy = Threads(handle).place
        for host in place.values():
            lines += [f"[host {host}]", f"proxy = {scheme}://{proxy}"]
    for scheme, kinds in RUDE.items():
        for number, (name, handle) in enumerate(kinds.items()):
            host = f"{scheme}{number}.example"
            lines += [f"[host {host}]", f"proxy = {scheme}://{Threads(handle).place}"]
            for target in ["gemini", "http"]:
                urls[f"{scheme} proxy, {name}: {target}"] = f"{target}://{host}/"
    return lines, urls
