#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small servers on 127.0.0.1 for run.py: HTTP, which is a proxy as well and listens on a Unix
socket, too, and Spartan. They keep what each run has sent: GET /log/RUN takes it out."""

import http.server
import os
import socketserver
import sys
import threading

DATE = "Fri, 20 Nov 2026 22:17:13 GMT"
PAGE = (
    b"# Title\n\nText of the page, long enough to be wrapped somewhere or other on its way, it may"
    b" be, with more words.\n=> /RUN/a 2026-11-20 A link\n=> /RUN/b/c 2026-11-19 Another\n"
    b"## Part\n=> /RUN/part 2026-11-18 Third\n* item\n"
)
seen = {}
lock = threading.Lock()


def note(run, text):
    with lock:
        seen.setdefault(run, []).append(text)
        return len(seen[run])


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    door = "tcp"

    def address_string(self):
        return "unix"

    def reply(self, status, body, fields=()):
        self.send_response(status)
        for name, value in (("Content-Length", str(len(body))), *fields):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer(self):
        path, door = self.path, self.door
        if path.startswith("http://"):
            path, door = "/" + path.split("/", 3)[3], "proxy"
        _, run, name = (path + "//").split("/")[:3]
        name = name.split("?")[0]
        if run == "log":
            with lock:
                found = seen.pop(name, [])
            return self.reply(200, "\n".join(found).encode())
        size = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(size) if size else b""
        known = ("host", "connection", "content-length")
        fields = sorted(f"{k}: {v}" for k, v in self.headers.items() if k.lower() not in known)
        count = note(run, f"{door} {self.command} {path} {fields} {sent!r}")
        plain = [("Content-Type", "text/plain")]
        headers = [("Content-Type", "text/gemini"), ("ETag", '"abc"'), ("Last-Modified", DATE)]
        body = PAGE.replace(b"RUN", run.encode())
        if name == "robots.txt" or path.startswith("/robots.txt"):
            return self.reply(200, b"User-agent: *\nDisallow: /*/gone\n", plain)
        if name == "changing":
            body += b"=> /%s/new%03d 2026-11-21 News %d\n" % (run.encode(), count, count)
            headers = headers[:1]
        if name == "moved":
            return self.reply(302, b"", [("Location", f"/{run}/here")])
        if name == "gone":
            return self.reply(404, b"the page is gone\n", plain)
        if name == "busy":
            return self.reply(503, b"later\n", [*plain, ("Retry-After", "0")])
        if name == "empty":
            return self.reply(200, b"", headers[:1])
        if self.headers.get("If-None-Match") == '"abc"' or self.headers.get("If-Modified-Since"):
            return self.reply(304, b"", headers[1:])
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and wanted.endswith("-"):
            start = int(wanted[6:-1])
            headers.append(("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}"))
            return self.reply(206, body[start:], headers)
        return self.reply(200, body, headers)

    do_GET = do_HEAD = do_POST = do_PURGE = answer

    def log_message(self, *_):
        pass


class Other(Web):
    door = "other"


class Unix(Web):
    door = "unix"


class Spartan(socketserver.StreamRequestHandler):
    def handle(self):
        _, path, length = self.rfile.readline().decode().split()
        sent = self.rfile.read(int(length))
        run = path.split("/")[1]
        note(run, f"spartan {path} {sent!r}")
        self.wfile.write(b"2 text/gemini\r\n" + PAGE.replace(b"RUN", run.encode()))


class Quiet(socketserver.ThreadingMixIn):
    """Clients that go away say nothing to the reader of a log."""

    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Server(Quiet, socketserver.TCPServer):
    pass


class UnixServer(Quiet, socketserver.UnixStreamServer):
    pass


def main():
    socket = sys.argv[1]
    servers = [Server(("127.0.0.1", 0), kind) for kind in (Web, Other, Spartan)]
    servers.append(UnixServer(socket, Unix))
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(*(server.server_address[1] for server in servers[:3]), flush=True)
    sys.stdin.read()
    os.unlink(socket)


if __name__ == "__main__":
    main()
