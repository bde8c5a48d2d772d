# SPDX-License-Identifier: MIT
"""Servers that do what no server should, each on a port of its own. What has no end here ends when
the client goes, or after PIECES pieces: a client that keeps what it gets shows that soon enough."""

import os
import socket
import struct
import time

from servers import Threads, line_from

PIECES = 1024
PIECE = b"a" * 32_768
GEMINI = b"20 application/octet-stream\r\n"
HTTP = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HTTP + b"Transfer-Encoding: chunked\r\n\r\n"


def pour(stream, start, piece):
    """Sends `start`, and then `piece` again and again."""
    stream.sendall(start)
    for _ in range(PIECES):
        stream.sendall(piece)


def drip(stream, text):
    for byte in text:
        stream.sendall(bytes([byte]))
        time.sleep(0.02)


def after_request(reply):
    """A server that reads a line, then calls `reply(stream, line)`."""
    def handle(stream):
        line = line_from(stream)
        reply(stream, line)
    return handle


def silence(stream):
    """Reads until the client goes away."""
    while stream.recv(4096):
        pass


def reset(stream):
    """Closes with RST; what was received or not does not matter."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.close()


def reset_within(start):
    def reply(stream, _):
        stream.sendall(start)
        reset(stream)
    return reply


def half_closed(stream):
    """Says at once that nothing will come, and keeps the connection."""
    stream.shutdown(socket.SHUT_WR)
    silence(stream)


def half_closed_within(start):
    def reply(stream, _):
        stream.sendall(start)
        half_closed(stream)
    return reply


def next_redirect(template):
    """To a longer path each time."""
    def reply(stream, line):
        path = b"/" + line.split(b" ")[0 if line.startswith(b"gemini") else 1].split(b"/")[-1]
        stream.sendall(template % (path.strip()[:40] + b"a"))
    return reply


def garbage(stream):
    """Where a handshake is expected."""
    stream.recv(4096)
    stream.sendall(os.urandom(4096))


def half_record(stream):
    """A handshake record that promises more than it has."""
    stream.recv(4096)
    stream.sendall(b"\x16\x03\x03\x40\x00" + os.urandom(100))
    silence(stream)


def endless_handshake(stream):
    """Records of warnings that never lead anywhere."""
    stream.recv(4096)
    pour(stream, b"", b"\x15\x03\x03\x00\x02\x01\x5a" * 1000)


def start(tls):
    """Starts all of them.

    - tls: a context, for the servers behind a good handshake.
    - Returns: name to URL; none of them may end well.
    """
    urls = {}

    def serve(name, url, handle, context=None):
        urls[name] = url.replace("*", Threads(handle, context).place)

    for scheme, path in [("gopher", "/0/a"), ("http", "/"), ("git", "/a.git"), ("finger", "/a")]:
        url = f"{scheme}://*{path}"
        serve(f"{scheme}: silence", url, silence)
        serve(f"{scheme}: reset", url, reset)
        serve(f"{scheme}: slow drip", url, after_request(lambda stream, _: drip(stream, PIECE)))
        serve(f"{scheme}: endless body", url, after_request(
            lambda stream, _: pour(stream, b"", PIECE)))
        if scheme in ("http", "git"):
            serve(f"{scheme}: half-closed", url, half_closed)
    page = "http://*/"
    for name, first, piece in [
            ("endless status line", b"HTTP/1.1 200 ", PIECE),
            ("endless header field", HTTP + b"X-A: ", PIECE),
            ("endless header fields", HTTP, b"X-A: " + b"b" * 1000 + b"\r\n"),
            ("endless interim replies", b"", b"HTTP/1.1 103 Early\r\nX-A: b\r\n\r\n" * 500),
            ("endless body of a reply", HTTP + b"\r\n", PIECE),
            ("endless chunks", CHUNKED, b"1\r\na\r\n" * 5000),
            ("endless chunk extension", CHUNKED + b"1;", PIECE),
            ("endless trailers", CHUNKED + b"1\r\na\r\n0\r\n", b"X-T: y\r\n" * 4000)]:
        serve(f"http: {name}", page, after_request(
            lambda stream, _, first=first, piece=piece: pour(stream, first, piece)))
    serve("http: endless redirects", page, after_request(next_redirect(
        b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n")))
    short = HTTP + b"Content-Length: 5000\r\n\r\nshort"
    serve("http: reset within a body", page, after_request(reset_within(short)))
    serve("http: half-closed within a body", page, after_request(half_closed_within(short)))
    serve("git: endless keepalives", "git://*/a.git", after_request(
        lambda stream, _: pour(stream, b"", b"0005\x01" * 5000)))

    page = "gemini://*/"
    serve("gemini: silence before the handshake", page, silence)
    serve("gemini: reset before the handshake", page, reset)
    serve("gemini: half-closed before the handshake", page, half_closed)
    serve("gemini: garbage for a handshake", page, garbage)
    serve("gemini: half a record", page, half_record)
    serve("gemini: endless handshake", page, endless_handshake)
    serve("https: garbage for a handshake", "https://*/", garbage)
    serve("https: endless handshake", "https://*/", endless_handshake)
    serve("gophers: garbage for a handshake", "gophers://*/0/a", garbage)
    serve("gemini: silence", page, silence, tls)
    serve("gemini: slow drip", page, after_request(
        lambda stream, _: drip(stream, GEMINI + PIECE)), tls)
    serve("gemini: endless header", page, after_request(
        lambda stream, _: pour(stream, b"20 ", PIECE)), tls)
    serve("gemini: endless body", page, after_request(
        lambda stream, _: pour(stream, GEMINI, PIECE)), tls)
    serve("gemini: endless redirects", page, after_request(next_redirect(b"30 %s\r\n")), tls)
    serve("gemini: reset within a body", page, after_request(reset_within(GEMINI + b"a")), tls)
    serve("gemini: half-closed within a body", page, after_request(
        half_closed_within(GEMINI + b"a")), tls)
    serve("gemini: no answer", page, after_request(lambda stream, _: None), tls)
    return urls
