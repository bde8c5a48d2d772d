#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Serves the repositories below a directory over smart HTTP, by git http-backend, with their files
in Git LFS, which are below another directory by their hash.

usage: git-lfs-server.py REPOSITORIES FILES LOG

The first name in a URL's path is how honest the server is, such as "wrong" or "redirect"; the
rest is the repository.
Two ports of the system's choice are reported, of which the second is another host's for a client.
To LOG goes a line for each request: port, method, path, and the fields that could be secrets.
"""

import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REPOSITORIES, FILES, LOG = sys.argv[1:]
TYPE = "application/vnd.git-lfs+json"
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", kind="text/plain", **fields):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.respond(b"")

    def do_POST(self):
        self.respond(self.rfile.read(int(self.headers["Content-Length"])))

    def respond(self, body):
        secrets = [
            f"{name}={self.headers[name]}"
            for name in ("Authorization", "X-Secret", "X-Mine", "Host", "Range")
            if self.headers[name]]
        with lock, open(LOG, "a", encoding="utf-8") as log:
            print(self.server.server_address[1], self.command, self.path, *secrets, file=log)
        path, _, query = self.path.partition("?")
        _, manner, rest = path.split("/", 2)
        if manner == "file":
            self.file(*rest.split("/"))
        elif rest.endswith("/info/lfs/objects/batch"):
            self.batch(manner, json.loads(body))
        else:
            self.git("/" + rest, query, body)

    def git(self, path, query, body):
        """git http-backend(1), a CGI program."""
        environment = dict(
            os.environ, GIT_PROJECT_ROOT=REPOSITORIES, GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path,
            QUERY_STRING=query, REQUEST_METHOD=self.command, REMOTE_ADDR="127.0.0.1",
            CONTENT_TYPE=self.headers.get("Content-Type", ""), CONTENT_LENGTH=str(len(body)),
            HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""),
            GIT_PROTOCOL=self.headers.get("Git-Protocol", ""))
        output = subprocess.run(
            ["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE,
            check=True).stdout
        head, _, content = output.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(fields.pop("Status", "200").split()[0])
        kind = fields.pop("Content-Type", "text/plain")
        fields.pop("Content-Length", None)
        self.answer(status, content, kind, **fields)

    def place(self, manner, oid):
        """The URL of a file."""
        own = f"http://127.0.0.1:{self.server.server_address[1]}/file"
        other = f"http://localhost:{OTHER.server_address[1]}/file"
        return {
            "file-url": "file:///etc/passwd", "ftp-url": "ftp://127.0.0.1/x",
            "relative-url": f"/file/honest/{oid}", "userinfo": f"http://a:b@127.0.0.1/{oid}",
            "other-host": f"{other}/honest/{oid}",
        }.get(manner, f"{own}/{manner}/{oid}")

    def batch(self, manner, request):
        if manner in ("login", "nothing", "busy"):
            return self.answer({"login": 401, "nothing": 404, "busy": 503}[manner])
        if manner == "page":
            return self.answer(200, b"<p>page</p>\n", "text/html")
        if manner in ("huge", "endless"):
            return self.flood(manner)
        objects = []
        if manner == "expired":
            with lock:
                BATCHES.append(request)
                manner = f"expired-{len(BATCHES)}"
                # The first of each request: downloads come in any order.
                GOOD[manner] = request["objects"][0]["oid"]
        for wanted in request["objects"]:
            field = {"X-Secret": "of the batch", "Range": "bytes=1-", "Host": "evil.test"}
            if manner == "bad-field":
                field["X-Bad"] = "a\r\nX-Worse: b"
            item = dict(wanted, actions={"download": {
                "href": self.place(manner, wanted["oid"]), "header": field, "expires_in": 60}})
            if manner == "missing":
                item = dict(wanted, error={"code": 404, "message": "no \x1b[31msuch file"})
            if manner == "no-action":
                item = dict(wanted)
            if manner == "other-size":
                item["size"] += 1
            if manner == "not-asked":
                item["oid"] = "0" * 64
            objects += [item] * (2 if manner == "twice" else 1)
        answer = {"transfer": "tus" if manner == "other-transfer" else "basic", "objects": objects}
        return self.answer(200, json.dumps(answer).encode(), TYPE)

    def flood(self, manner):
        """100 MB, or bytes without an end."""
        self.send_response(200)
        self.send_header("Content-Type", TYPE)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        piece = b'{"objects": [' + b" " * 999_987
        count = 0
        try:
            while manner == "endless" or count < 100:
                self.wfile.write(piece)
                piece = b" " * 1_000_000
                count += 1
        except OSError:
            pass

    def file(self, manner, oid):
        with open(os.path.join(FILES, oid), "rb") as file:
            content = file.read()
        if manner == "redirect":
            host = f"http://localhost:{OTHER.server_address[1]}"
            return self.answer(302, b"elsewhere", Location=f"{host}/file/honest/{oid}")
        if manner == "redirect-file":
            return self.answer(302, Location="file:///etc/passwd")
        if manner == "loop":
            return self.answer(307, Location=self.path)
        if manner == "gone":
            return self.answer(410)
        if manner.startswith("expired-"):
            # Of each answer to a batch request, one place is good.
            if GOOD[manner] != oid:
                return self.answer(403)
        if manner == "wrong":
            content = bytes(len(content))
        if manner == "short":
            content = content[:-1]
        if manner == "long":
            content += b"x"
        return self.answer(200, content, "application/octet-stream")


GOOD, BATCHES = {}, []
OWN = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
OTHER = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
# A file is served by its name alone, which must be its hash.
for name in os.listdir(FILES):
    with open(os.path.join(FILES, name), "rb") as stored:
        assert hashlib.sha256(stored.read()).hexdigest() == name
threading.Thread(target=OTHER.serve_forever, daemon=True).start()
print("own", OWN.server_address[1])
print("other", OTHER.server_address[1], flush=True)
OWN.serve_forever()
