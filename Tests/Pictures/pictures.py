# SPDX-License-Identifier: MIT
"""Pictures of smallweb in a terminal: each is what tmux has on its screen after the same keys.

usage: unshare --map-root-user --net --mount --pid --fork --kill-child \\
           python3 pictures.py SMALLWEB COMPLETIONS DIRECTORY

In a network of its own, where garden.example has servers on the usual ports, and with keys that are
the same each time, so that the same program gives the same pictures.
"""

import base64
import hashlib
import os
import re
import shutil
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from svg import picture

smallweb, completions, target = (os.path.realpath(path) for path in sys.argv[1:4])
work = tempfile.mkdtemp(prefix="smallweb-pictures.")
COLUMNS, ROWS = 92, 40
HOST, ADDRESS = "garden.example", "192.0.2.10"

# The place.


def command(*words, **options):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          **options).stdout


def key(name):
    """A private key that depends on its name alone (Ed25519, RFC 8410)."""
    seed = hashlib.sha256(name.encode()).digest()
    der = bytes.fromhex("302e020100300506032b657004220420") + seed
    text = base64.b64encode(der).decode()
    return "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n" % text


def fingerprint(private):
    der = command("openssl", "pkey", "-pubout", "-outform", "DER", input=private.encode())
    return hashlib.sha256(der).hexdigest()


def write(path, text):
    path = work + "/" + path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


PAGE = """# The garden at the end of the street

A small capsule about vegetables, weather and patience. It has been online since the first \
frost of last year, and is written by hand.

> Plant one more row than you need: it is for the birds.

## This week

=> /log/2026-11-20.gmi The last of the leeks
=> /log/2026-11-13.gmi Why the compost steams
=> /seeds/ Seeds to swap

* The broad beans are in.
* Nothing else is, and that is fine.

```
   .-.  .-.
  (   )(   )   north bed: leeks, garlic
   `-'  `-'    south bed: asleep
```

=> gopher://garden.example/1/archive The archive, over Gopher
=> mailto:me@garden.example Write to me
"""

# A page of the log, with a picture that has been moved.
ENTRY = "# A week in the garden\n\n=> /images/leeks.jpg Leeks\n=> / Home\n"


# The garden on the web.
SITE = """<!doctype html><html lang=en><title>Beans</title><link rel=stylesheet href=garden.css>
<nav><a href=/>Garden</a> &middot; <a href=/seeds/>Seeds</a></nav>
<h1>Which beans, and when</h1>
<p>All of them are from seeds of last year. Those in the <a href=north.html>north bed</a> are early:
see the <a href="https://example.org/frost?month=11&amp;place=here">table of frosts</a> before you sow.
<table><tr><th>Bean<th>Sown<th>Picked
<tr><td><a href=aquadulce.html>Aquadulce</a><td>November<td>June
<tr><td>Crimson-flowered<td>February<td>July
<tr><td>The Sutton<td>March, under glass<td>August</table>
<h2>How to swap</h2>
<ol><li>Write to <a href=mailto:me@garden.example>me</a>.<li>Send an envelope.
<ul><li>No plastic, please.</ul><li>Wait for the harvest.</ol>
<blockquote>Plant one more row than you need: it is for the birds.</blockquote>
<script>count()</script>"""


class Gemini(socketserver.StreamRequestHandler):
    def setup(self):
        self.request = tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def handle(self):
        path = self.rfile.readline().decode().split(HOST)[1].strip()
        if path.startswith(("/robots", "/seeds", "/images")):
            self.wfile.write(b"51 not found\r\n")
        else:
            page = PAGE if path == "/" else ENTRY
            self.wfile.write(b"20 text/gemini; lang=en\r\n" + page.encode())

    def finish(self):
        super().finish()
        # Without close_notify a page counts as cut off.
        self.request.unwrap()


class Web(socketserver.StreamRequestHandler):
    """A page; or 20 MiB at an even pace, of which it holds back the last 8."""

    def handle(self):
        is_page = b".html" in self.rfile.readline()
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        if is_page:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
                             b"Content-Length: %d\r\n\r\n%s" % (len(SITE), SITE.encode()))
            return
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (20 << 20))
        piece = bytes(64 << 10)
        start = time.monotonic()
        for number in range((12 << 20) // len(piece)):
            # 2.45 MiB per second, rounded down to 2.4 also when the moment is late.
            time.sleep(max(0, start + number * len(piece) / (2.45 * 2**20) - time.monotonic()))
            self.wfile.write(piece)
        self.rfile.read()


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, *_):
        """A client may leave at any moment."""


command("ip", "link", "set", "lo", "up")
command("ip", "address", "add", ADDRESS + "/32", "dev", "lo")
command("mount", "--bind", write("hosts", "%s %s\n127.0.0.1 localhost\n" % (ADDRESS, HOST)),
        "/etc/hosts")
private = write("key.pem", key("this year"))
command("openssl", "req", "-new", "-key", private, "-out", work + "/cert.csr", "-subj", "/CN=" + HOST)
# What `openssl req -x509` makes depends on the time and on chance.
write("index", "")
write("serial", "01")
command("openssl", "ca", "-batch", "-selfsign", "-notext", "-keyfile", private, "-startdate",
        "20260101000000Z", "-enddate", "20491231235959Z", "-in", work + "/cert.csr", "-out",
        work + "/cert.pem", "-config", write("ca.conf", """
[ca]
default_ca = garden
[garden]
dir = {work}
database = $dir/index
serial = $dir/serial
new_certs_dir = $dir
default_md = default
policy = any
x509_extensions = names
[any]
commonName = supplied
[names]
subjectAltName = DNS:{host}
""".format(work=work, host=HOST)))
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(work + "/cert.pem", private)
for port, handler in [(1965, Gemini), (80, Web)]:
    threading.Thread(target=Server((ADDRESS, port), handler).serve_forever, daemon=True).start()

# The terminal.

STORE = "home/.local/share/smallweb/known_hosts"
HISTORY = "home/.local/state/smallweb/history"
DAY = 1_795_132_800  # 2026-11-20


def known(name):
    """The store knows this key since that day, and nothing else."""
    write(STORE, "%s:1965 k sha256:%s expires=2524607999 first=%d last=%d n=1\n" % (
        HOST, fingerprint(key(name)), DAY, DAY))


os.makedirs(work + "/bin")
os.symlink(smallweb, work + "/bin/smallweb")
os.makedirs(work + "/functions")
shutil.copy(completions, work + "/functions/_smallweb")
write("home/.zshrc", "PS1='%B%F{green}$%f%b '\nfpath=({work}/functions $fpath)\n"
      "autoload -Uz compinit; compinit -u -D\nunsetopt beep prompt_sp\n".replace("{work}", work))
write("home/.zshenv", "unsetopt global_rcs\n")
ENVIRONMENT = {
    "HOME": work + "/home", "PATH": work + "/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8",
    "SHELL": "/bin/zsh", "TERM": "xterm-256color", "TZ": "UTC", "TMUX_TMPDIR": work,
}


def tmux(*words):
    return command("tmux", "-u", "-L", session, "-f", work + "/tmux.conf", *words, env=ENVIRONMENT,
                   cwd=work + "/home").decode()


session = "s0"
write("tmux.conf", "set -g default-terminal tmux-256color\nset -g status off\n"
      "set -g default-command 'exec zsh -i'\n")


def screen(*options):
    return tmux("capture-pane", "-p", *options)


def wait(pattern, seconds=120):
    """Until the screen has the pattern, and stays as it is."""
    end = time.monotonic() + seconds
    before = None
    while time.monotonic() < end:
        now = screen()
        if now == before and re.search(pattern, now, re.MULTILINE):
            return
        before = now
        time.sleep(0.3)
    sys.exit("the screen does not show %r:\n%s" % (pattern, before))


def catch(pattern, seconds=120):
    """The screen as soon as it has the pattern."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now = screen("-e")
        if re.search(pattern, now):
            return now
        time.sleep(0.02)
    sys.exit("the screen does not show %r:\n%s" % (pattern, screen()))


def typed(*keys, prompt=r"^\$\s*\Z"):
    """A new terminal, in whose shell these keys are pressed."""
    global session
    session = "s%d" % (int(session[1:]) + 1)
    tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS))
    wait(prompt)
    for text in keys:
        tmux("send-keys", *(["-l", text] if len(text) > 1 and text not in NAMED else [text]))


NAMED = {"Enter", "Tab", "C-c"}


def end():
    tmux("kill-server")


def save(name, screen, title):
    for theme in ("light", "dark"):
        with open("%s/%s-%s.svg" % (target, name, theme), "w", encoding="utf-8") as file:
            file.write(picture(screen.replace(work + "/home", "~"), COLUMNS, title, theme))
    print("%s: %d lines" % (name, len(screen.rstrip().split("\n"))))


# A command, what it says, and the next prompt.
DONE = r"^\$ smallweb .*\n(.*\n)+\$\s*\Z"


def shown(name, line, pattern):
    """A command, and what it says."""
    typed(line, "Enter")
    wait(pattern)
    save(name, screen("-e"), "smallweb " + line.split()[1])
    end()


os.makedirs(target, exist_ok=True)
try:
    known("this year")
    shown("open", "smallweb open gemini://garden.example/", "q quit:")

    shown("html", "smallweb open http://garden.example/beans.html", "q quit:")

    known("this year")
    shown("explain", "smallweb explain -O gemini://garden.example/log/2026-11-20.gmi", DONE)

    known("this year")
    shown("crawl", "smallweb crawl --check gemini://garden.example/", DONE)

    known("last year")
    shown("changed-key", "smallweb get gemini://garden.example/", DONE)

    typed("smallweb ", "Tab")
    # The last line of the list.
    wait("^trust")
    save("completion", screen("-e"), "zsh")
    end()

    typed("smallweb get -O http://garden.example/seeds.tar", "Enter")
    save("progress", catch(r"12\.0 MiB of"), "smallweb get")
    end()
finally:
    subprocess.run(["tmux", "-L", session, "kill-server"], env=ENVIRONMENT,
                   stderr=subprocess.DEVNULL)
    shutil.rmtree(work)
