# SPDX-License-Identifier: MIT
"""Runs every example of the manual pages, of README.md, of docs/scale.md, of the documents on plugins
and of the page for tldr, as it is printed there.

usage: unshare --map-root-user --net --mount python3 examples.py SMALLWEB ROOT

In a network of its own, the hosts that the examples name are this machine, and servers on the usual
ports answer whatever is asked of them.
"""

import fcntl
import glob
import hashlib
import http.server
import os
import re
import shutil
import signal
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import time

smallweb, root = (os.path.realpath(path) for path in sys.argv[1:3])
HOSTS = [
    "localhost", "geminiprotocol.net", "gopher.floodgap.com", "example.org", "example.net",
    "example.com", "dict.org", "dict.example.org", "proxy.test",
    "nightfall.city",
]
work = tempfile.mkdtemp(prefix="smallweb-examples.")


def command(*words, **options):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   **options)


# What an example ends with when it is not 0: what its sentence in the manual says.
STATUS = {
    "smallweb get --fail-with-body gopher://example.org/0/missing": 22,
    "smallweb get --no-location gemini://geminiprotocol.net/docs": 102,
    # example.org is this machine there.
    "smallweb get --public-only https://example.org/": 105,
    # Nobody is there to ask.
    "smallweb put --ask-token titan://example.org/a.gmi a.gmi": 101,
    # Without a terminal and EDITOR.
    "smallweb edit titan://example.org/notes/a.gmi": 23,
    "smallweb refs --exit-code --tags git://example.org/repo.git v3.0": 22,
}


# The binary may have another name than `smallweb` where it lies.
os.makedirs(work + "/bin")
os.symlink(smallweb, work + "/bin/smallweb")
PATH = work + "/bin:/usr/bin:/bin"


def examples():
    """Each line once, with where it stands."""
    lines = {}
    for page in sorted(glob.glob(root + "/man/*.[157]")):
        for line in open(page, encoding="utf-8"):
            if line.startswith(".Dl smallweb ") or line.startswith(".Dl ... "):
                text = line[4:].rstrip("\n")
                for escape, plain in [("\\(aq", "'"), ("\\(dq", '"'), ("\\(ga", "`"),
                                      ("\\(ti", "~"), ("\\(ha", "^"), ("\\&", ""),
                                      ("\\e", "\\")]:
                    text = text.replace(escape, plain)
                lines.setdefault(text, os.path.basename(page))
    for name in ("README.md", "docs/scale.md"):
        for line in open(root + "/" + name, encoding="utf-8"):
            # What goes on in the next line is a recipe, of which Tests/RealServers/workers.sh has all.
            if line.startswith("    smallweb ") and not line.endswith("\\\n"):
                lines.setdefault(line.strip(), name)
    # Commands that follow each other belong together.
    for page in ("docs/plugins.md", "docs/wire.md"):
        for block in re.findall(r"(?:^    .*\n)+", open(root + "/" + page, encoding="utf-8").read(), re.M):
            commands = [line.strip() for line in block.splitlines()]
            if any(line.startswith("smallweb ") for line in commands):
                lines.setdefault(" && ".join(commands), page)
    for line in tldr():
        lines.setdefault(line, "docs/packaging/tldr/smallweb.md")
    return lines


def tldr():
    """The commands of the page for tldr, by their short options and by their long ones."""
    text = open(root + "/docs/packaging/tldr/smallweb.md", encoding="utf-8").read()
    head, *examples = text.split("\n\n- ")
    sentence = r"\n> [A-Z].*\."
    assert re.fullmatch(r"# smallweb\n(%s)+" % sentence, head), head
    assert 1 <= len(examples) <= 8, len(examples)
    commands = []
    for example in examples:
        line = re.fullmatch(r"[A-Z][^\n]*:\n\n`(smallweb [^`\n]+)`\n?", example)
        assert line, example
        for form in (1, 2):
            plain = re.sub(r"\{\{\[(\S+?)\|(\S+?)\]\}\}", lambda match: match[form], line[1])
            commands.append(re.sub(r"\{\{(.*?)\}\}", r"\1", plain))
    return commands


# The servers.

PAGE = ("# Page\n=> /docs/ Docs\n=> gopher://example.org/ Gopher\nText.\n"
        "## Posts\n=> /2026-11-01.gmi 2026-11-01 News\n")


class Encrypted:
    """TLS for whoever begins with it."""

    def setup(self):
        if self.request.recv(1, socket.MSG_PEEK)[:1] == b"\x16":
            self.request = tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self):
        super().finish()
        if isinstance(self.request, ssl.SSLSocket):
            # Without close_notify a Gemini page counts as cut off.
            try:
                self.request.unwrap()
            except OSError:
                pass


class Connection(Encrypted, socketserver.StreamRequestHandler):
    def say(self, text):
        self.wfile.write(text.encode())


class Gemini(Connection):
    def handle(self):
        url = self.rfile.readline().decode().strip()
        size = re.search(r";size=(\d+)", url)
        if url.startswith("titan://") and size:
            self.rfile.read(int(size[1]))
            self.say("20 text/gemini\r\nStored.\n")
        elif url.endswith("/docs"):
            self.say("31 /docs/\r\n")
        else:
            self.say("20 text/gemini\r\n" + PAGE)


class Gopher(Connection):
    def handle(self):
        selector = self.rfile.readline().decode().rstrip("\r\n")
        if "missing" in selector:
            self.say("3No such file\t\terror.host\t1\r\n.\r\n")
        elif "disk.img" in selector:
            self.wfile.write(bytes(range(256)) * 64)
        elif selector in ("", "/") or "\t" in selector or "/1" in selector:
            self.say("iMenu\t\terror.host\t1\r\n0Text\t/b\texample.org\t70\r\n.\r\n")
        else:
            self.say("Text.\r\n.\r\n")


class Spartan(Connection):
    def handle(self):
        self.rfile.read(int(self.rfile.readline().split()[2]))
        self.say("2 text/gemini\r\n# Page\n=> /docs/ Docs\n=: /guestbook Sign\n")


class Finger(Connection):
    def handle(self):
        self.rfile.readline()
        self.say("Login: alice\r\n")


class Dictionary(Connection):
    def handle(self):
        self.say("220 dictionary\r\n")
        for line in self.rfile:
            word = line.split()[:1]
            self.say({b"CLIENT": "250 ok\r\n", b"QUIT": "221 bye\r\n"}.get(
                word[0] if word else b"", "552 no match\r\n"))
            if word == [b"QUIT"]:
                break


class Socks(Connection):
    """SOCKS 5 with any password or none, to names alone."""

    def handle(self):
        method = max(self.rfile.read(self.rfile.read(2)[1]))
        self.wfile.write(bytes([5, method]))
        if method == 2:
            for _ in ("user", "password"):
                self.rfile.read(self.rfile.read(2 if _ == "user" else 1)[-1])
            self.wfile.write(b"\x01\x00")
        self.rfile.read(4)
        name = self.rfile.read(self.rfile.read(1)[0])
        other = socket.create_connection((name, int.from_bytes(self.rfile.read(2), "big")))
        self.wfile.write(b"\x05\x00\x00\x01" + bytes(6))
        self.join(other)

    def join(self, other):
        def copy(source, target):
            try:
                while data := source.recv(65536):
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)
            except OSError:
                # The other end has gone.
                pass

        threading.Thread(target=copy, args=(other, self.request), daemon=True).start()
        copy(self.request, other)


class Tunnel(Socks):
    """HTTP's CONNECT, for those who log in."""

    def handle(self):
        header = b""
        while not header.endswith(b"\r\n\r\n"):
            header += self.rfile.readline()
        if b"Proxy-Authorization: Basic" not in header:
            return self.say("HTTP/1.1 407 Log in\r\n\r\n")
        name, port = header.split()[1].decode().rsplit(":", 1)
        other = socket.create_connection((name, int(port)))
        self.say("HTTP/1.1 200 OK\r\n\r\n")
        self.join(other)


class Web(Encrypted, http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        path, _, query = self.path.partition("?")
        if path.startswith(("/repo.git", "/private.git")):
            return self.git(path, query, body)
        page = bytes(range(256)) * 64 if path.endswith(".img") else PAGE.encode()
        start = re.match(r"bytes=(\d+)-$", self.headers.get("Range") or "")
        self.send_response(206 if start else 200)
        if start:
            begin = int(start[1])
            self.send_header(
                "Content-Range", "bytes %d-%d/%d" % (begin, len(page) - 1, len(page)))
            page = page[begin:]
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page)

    def git(self, path, query, body):
        environment = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": work, "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "CONTENT_LENGTH": str(len(body)),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        reply = subprocess.run(
            ["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE)
        head, _, page = reply.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, *_):
        """A client may leave at any moment."""


class Server6(Server):
    address_family = socket.AF_INET6


class LocalServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def get_request(self):
        return self.socket.accept()[0], ("", 0)


def serve(server):
    threading.Thread(target=server.serve_forever, daemon=True).start()


# The place.

with socket.socket() as any_socket:
    # SIOCGIFFLAGS and SIOCSIFFLAGS, with IFF_UP: not every machine has ip.
    request = bytearray(b"lo".ljust(40, b"\0"))
    fcntl.ioctl(any_socket, 0x8913, request)
    request[16] |= 1
    fcntl.ioctl(any_socket, 0x8914, request)
with open(work + "/hosts", "w") as file:
    for address in ("127.0.0.1", "::1"):
        file.write("%s %s\n" % (address, " ".join(HOSTS)))
command("mount", "--bind", work + "/hosts", "/etc/hosts")
command("mount", "-t", "tmpfs", "tmpfs", "/run")
command(
    "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
    "-keyout", work + "/key.pem", "-out", work + "/cert.pem", "-days", "365", "-subj",
    "/CN=example.org", "-addext", "subjectAltName=" + ",".join("DNS:" + name for name in HOSTS))
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(work + "/cert.pem", work + "/key.pem")
for port, handler in [
        (1965, Gemini), (70, Gopher), (79, Finger), (300, Spartan), (1900, Finger), (2628, Dictionary),
        (9050, Socks), (3128, Tunnel),
        (80, Web), (443, Web), (8443, Web)]:
    serve(Server(("127.0.0.1", port), handler))
    serve(Server6(("::1", port), handler))
serve(LocalServer("/run/app.sock", Web))

git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", work + "/files"]
command("git", "init", "-q", "-b", "main", work + "/files")
for name in ("docs", "lib"):
    os.makedirs(work + "/files/" + name)
for name in ("README.md", "docs/guide.md", "lib/a.c"):
    with open(work + "/files/" + name, "w") as file:
        file.write("Text.\n")
command(*git, "add", ".")
command(*git, "commit", "-qm", "First")
for tag in ("v1", "v2"):
    command(*git, "tag", tag)
for tag in ("v1.0", "v2.0"):
    command(*git, "tag", "-m", tag, tag)
for name in ("/repo.git", "/private.git", "/a.git"):
    command("git", "clone", "-q", "--bare", work + "/files", work + name)
    command("git", "-C", work + name, "config", "uploadpack.allowFilter", "true")
daemon = subprocess.Popen(
    ["git", "daemon", "--export-all", "--base-path=" + work, "--listen=127.0.0.1", "--reuseaddr",
     work + "/repo.git", work + "/a.git"], stderr=subprocess.DEVNULL, start_new_session=True)


def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


end = time.monotonic() + 120
while not can_connect(9418) and daemon.poll() is None:
    if time.monotonic() > end:
        sys.exit("examples.py: waited 120 s for git daemon to listen on port 9418")
    time.sleep(0.01)

command("openssl", "pkey", "-in", work + "/key.pem", "-aes256", "-passout", "pass:secret",
        "-out", work + "/locked.pem")
key = subprocess.run(["openssl", "pkey", "-in", work + "/key.pem", "-pubout", "-outform", "DER"],
                     check=True, stdout=subprocess.PIPE).stdout
FILES = {
    "path/to/urls.txt": "gemini://example.org/a\ngopher://example.net/0/b\n",
    "path/to/a.gmi": "# A\n",
    "key.sha256": hashlib.sha256(key).hexdigest() + "\n",
    "pages.txt": "gemini://example.org/\n",
    "urls.txt": "gemini://example.org/a\ngopher://example.net/0/b\n", "a.gmi": "# A\n", "index.gmi": "# Index\n",
    "seeds.txt": "gemini://example.org/\n", "newest-first.txt": "gemini://example.org/a\n",
    "bookmarks.gmi": "=> gemini://example.org/a A\n",
    "notes": "Notes\n", "note.txt": "Hello\n", "notes.gmi": "# Notes\n", "token": "secret\n", "pw": "secret\n",
    "password.txt": "secret\n", "login": "user:secret\n",
    ".netrc": "machine example.org login user password secret\n",
    "work.conf": "max-time = 30\n",
    "part0.jsonl": '{"type":"response","v":1,"outcome":"ok","url":"gemini://example.org/a"}\n',
    "part1.jsonl": '{"type":"error","v":1,"outcome":"timeout","url":"gemini://example.net/b"}\n',
    "known_hosts": "example.org SHA-512 " + ":".join(["AB"] * 64) + " 1900000000\n",
    "me.crt": open(work + "/cert.pem").read(), "me.key": open(work + "/key.pem").read(),
    "me.pem": open(work + "/cert.pem").read() + open(work + "/locked.pem").read(),
    ".config/fish/completions/other.fish": "",
    ".config/lagrange/idents/%s.crt" % ("ab" * 32): open(work + "/cert.pem").read(),
    ".config/lagrange/idents/%s.key" % ("ab" * 32): open(work + "/key.pem").read(),
    ".telescope/certs/me": open(work + "/cert.pem").read() + open(work + "/key.pem").read(),
    ".telescope/certs.conf": "gemini://example.org/app me\n",
    ".config/lagrange/trusted.2.txt":
        "example.net;1965 1900000000 " + "ab" * 32 + "\n",
}


# As it is installed.
os.makedirs(work + "/share/smallweb")
os.symlink(root + "/Tests/PluginTests/Fixtures", work + "/share/smallweb/fixtures")


# Whatever an example is piped into that not every machine has.
for name in ("lpr", "mail"):
    with open(work + "/bin/" + name, "w") as file:
        file.write("#!/bin/sh\nexec cat >/dev/null\n")
with open(work + "/bin/ssh", "w") as file:
    file.write("""#!%s
import os, socket, sys, threading
host, port = sys.argv[2].rsplit(":", 1)
far = socket.create_connection((host, int(port)))
def send():
    while data := os.read(0, 65536):
        far.sendall(data)
    far.shutdown(socket.SHUT_WR)
threading.Thread(target=send, daemon=True).start()
while data := far.recv(65536):
    os.write(1, data)
""" % sys.executable)
for name in ("lpr", "mail", "ssh"):
    os.chmod(work + "/bin/" + name, 0o755)


def lacking(line):
    """A program that the example calls and that is not there."""
    commands = r"[|;&]+|\$\(|--(?:exec|proxy-command) '"
    for part in re.split(commands, re.sub(r"\s#.*", "", line)):
        word = part.split()[:1]
        if word and re.fullmatch(r"[a-z][a-z0-9-]*", word[0]) and subprocess.run(
                ["bash", "-c", "command -v " + word[0]], stdout=subprocess.DEVNULL,
                env={"PATH": PATH}).returncode != 0:
            return word[0]
    return None


def shell(home, line, **options):
    environment = {
        "HOME": home, "LC_ALL": "C.UTF-8", "PATH": PATH,
        "SSL_CERT_FILE": work + "/cert.pem", "XDG_DATA_DIRS": work + "/share",
    }
    return subprocess.run(["bash", "-c", line], cwd=home, env=environment, timeout=300,
                          stdin=subprocess.DEVNULL, **options)


def make_home(home):
    """Where what all examples need is there."""
    os.mkdir(home)
    for name, text in FILES.items():
        os.makedirs(os.path.dirname(home + "/" + name), exist_ok=True)
        with open(home + "/" + name, "w") as file:
            file.write(text)
    os.chmod(home + "/.netrc", 0o600)
    shell(home, "smallweb get --cache gemini://geminiprotocol.net/ gemini://example.org/;"
          "smallweb bookmarks add gemini://example.org/ Example;"
          "smallweb identity new alice gemini://example.org/app",
          stdout=subprocess.DEVNULL, check=True)


def run(line):
    """In a home of its own, where what the example needs is there."""
    home = tempfile.mkdtemp(dir=work)
    shutil.copytree(work + "/home", home, dirs_exist_ok=True)
    setup = ""
    if "identity new" in line:
        setup += "smallweb identity remove --force alice;"
    if "./nex.sh" in line:
        setup += "cp %s/docs/examples/plugins/nex.sh .; chmod 755 nex.sh;" % root
    elif "./nex" in line:
        setup += "cp -r %s/docs/examples/plugins/nex .; chmod -R go-w nex;" % root
    for name in ("dict", "hello"):
        if "./" + name in line:
            setup += "smallweb plugin new %s; smallweb plugin new %s/;" % (name, name)
    if "--known-hosts" in line:
        setup += "cp .local/share/smallweb/known_hosts hosts; cp hosts known_hosts"
    for name in re.findall(r"\S+\.warc(?:\.gz)?", line):
        if "--warc " not in line:
            setup += "smallweb get --warc %s gemini://geminiprotocol.net/ https://example.org/ " \
                "gopher://example.org/;" % name
    # This one stays until it is ended.
    if "--every" in line:
        line = "! timeout -s INT 2 " + line
    try:
        if setup:
            shell(home, setup, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return shell(home, "set -o pipefail; " + line, stdout=subprocess.PIPE,
                     stderr=subprocess.STDOUT)
    finally:
        shutil.rmtree(home)


def judge(line, place):
    """A line of what was checked, as Tests/parts.sh counts them."""
    if program := lacking(line):
        return "%s - %s: %s: %s is not installed" % (
            "not ok" if os.environ.get("CI") == "true" else "skipped", place, line, program)
    try:
        result = run(line)
    except subprocess.TimeoutExpired:
        return "not ok - %s: %s: hangs" % (place, line)
    wanted = STATUS.get(line, 0)
    if result.returncode != wanted:
        return "not ok - %s: %s\n    exit status %d, not %d: %s" % (
            place, line, result.returncode, wanted, result.stdout[-300:].decode(errors="replace"))
    return "ok - %s: %s" % (place, line)


make_home(work + "/home")
found = examples()
is_right = len(found) >= 50
for line, place in found.items():
    verdict = judge(line, place)
    is_right = is_right and not verdict.startswith("not ok")
    print(verdict, flush=True)
# "git" is a parent of the daemon itself.
os.killpg(daemon.pid, signal.SIGKILL)
shutil.rmtree(work)
sys.exit(0 if is_right else 1)
