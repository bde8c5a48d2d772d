# SPDX-License-Identifier: MIT
"""The servers that `make faults` and `make soak` fetch from, all on 127.0.0.1, on ports that the
system picks: smallweb-loopback, and one for Titan, which that has not."""

import os
import socketserver
import ssl
import subprocess
import threading


class Loopback:
    """smallweb-loopback as a child; `place["gemini"]` is `127.0.0.1:40123`."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.place = {}
        for line in self.process.stdout:
            words = line.split()
            if words == ["ready"]:
                break
            self.place[words[0]] = f"{words[1]}:{words[2]}"
        if not self.place:
            raise SystemExit(f"{program} did not start")

    def stop(self):
        self.process.stdin.close()
        self.process.wait(20)


def certificate(directory):
    """A self-signed certificate for localhost and 127.0.0.1, with its key, in one file."""
    path = os.path.join(directory, "server.pem")
    key = os.path.join(directory, "server.key")
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", key, "-out", path, "-days", "30", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        stderr=subprocess.PIPE, check=False)
    if made.returncode != 0:
        raise SystemExit("openssl: " + made.stderr.decode(errors="replace"))
    with open(path, "ab") as pem, open(key, "rb") as more:
        pem.write(more.read())
    return path


def tls_context(pem):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


class Threads(socketserver.ThreadingTCPServer):
    """Serves each connection in a thread with `handle(socket)`, until the process ends."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, handle, context=None):
        self.handle, self.context = handle, context
        super().__init__(("127.0.0.1", 0), None)
        self.place = "127.0.0.1:%d" % self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        request.settimeout(30)
        if self.context is None:
            self.handle(request)
            return
        tls = self.context.wrap_socket(request, server_side=True, suppress_ragged_eofs=True)
        try:
            self.handle(tls)
            tls.unwrap()
        finally:
            tls.close()

    def handle_error(self, request, client_address):
        """A client that is made to fail leaves in the middle; that is what this is for."""


def line_from(stream, most=4096):
    """Up to a line feed, byte by byte, so that what follows stays in the socket."""
    line = b""
    while not line.endswith(b"\n") and len(line) < most:
        byte = stream.recv(1)
        if not byte:
            break
        line += byte
    return line


class Titan(Threads):
    """Takes uploads and says what it got: `got SIZE bytes`. `received` holds them by their path."""

    def __init__(self, pem):
        self.received = {}
        super().__init__(self.upload, tls_context(pem))

    def upload(self, stream):
        url, *parameters = line_from(stream).decode().strip().split(";")
        size = int(dict(word.split("=", 1) for word in parameters)["size"])
        body = b""
        while len(body) < size:
            piece = stream.recv(size - len(body))
            if not piece:
                return
            body += piece
        self.received.setdefault(url.split("/", 3)[3], []).append(body)
        stream.sendall(b"20 text/plain\r\ngot %d bytes\n" % size)
