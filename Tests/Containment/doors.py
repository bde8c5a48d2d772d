# SPDX-License-Identifier: MIT
"""Places that a program with further connections must not reach, and how it asks for them."""

import contextlib
import ctypes
import json
import socket
import subprocess
import threading

# Documentation's (RFC 5737), which smallweb takes for one of the internet.
PUBLIC = "198.51.100.1"
CLONE_NEWNET = 0x40000000


def opening(url, number=1):
    return {"say": {"type": "open", "connection": number, "url": url}}


def redirect(url, **then):
    head = {"type": "head", "class": "redirect", "redirect": url}
    return {"say": head, **({"then": then} if then else {})}


# From a URL at 127.0.0.1, where `opens` has tcp://{host}:ALLOWED: what is said on descriptor 3.
DOORS = {
    "other-port": opening("tcp://127.0.0.1:FORBIDDEN"),
    "other-host": opening("tcp://127.0.0.2:ALLOWED"),
    "other-name": opening("tcp://localhost:ALLOWED"),
    "number": opening("tcp://2130706434:ALLOWED"),
    "short-number": opening("tcp://127.2:ALLOWED"),
    "hexadecimal": opening("tcp://0x7f.0.0.2:ALLOWED"),
    "octal": opening("tcp://0177.0.0.2:ALLOWED"),
    "mapped": opening("tcp://[::ffff:127.0.0.2]:ALLOWED"),
    "zero": opening("tcp://0.0.0.0:FORBIDDEN"),
    "tls": opening("tls://127.0.0.1:ALLOWED"),
    "udp": opening("udp://127.0.0.1:ALLOWED"),
    "udp-connection": opening("udp://127.0.0.1:ALLOWED", 2),
    "user": opening("tcp://127.0.0.1:ALLOWED@127.0.0.2:ALLOWED"),
    "user-first": opening("tcp://127.0.0.2:ALLOWED@127.0.0.1:ALLOWED"),
    "two-ports": opening("tcp://127.0.0.2:ALLOWED:ALLOWED"),
    "path": opening("tcp://127.0.0.2:ALLOWED/tcp://127.0.0.1:ALLOWED"),
    "fragment": opening("tcp://127.0.0.2:ALLOWED#@127.0.0.1:ALLOWED"),
    "nul": opening("tcp://127.0.0.2\0:ALLOWED"),
    "line": opening("tcp://127.0.0.2\n127.0.0.1:ALLOWED"),
    "space": opening("tcp://127.0.0.2 :ALLOWED"),
    "wide-digits": opening("tcp://127.0.0.１:FORBIDDEN"),
    "port-zeros": opening("tcp://127.0.0.1:0FORBIDDEN"),
    "port-beyond": opening("tcp://127.0.0.1:BEYOND"),
    "pattern": opening("tcp://{host}:FORBIDDEN"),
    "any": opening("tcp://*:FORBIDDEN"),
    "web": opening("http://127.0.0.1:FORBIDDEN/"),
    "gopher": opening("gopher://127.0.0.1:FORBIDDEN/"),
    "unix": opening("unix:READS/stream"),
    "unix-host": opening("tcp://READS/stream:ALLOWED"),
    "file": opening("file://READS/inside"),
    "negative": opening("tcp://127.0.0.1:FORBIDDEN", -1),
    "first": opening("tcp://127.0.0.1:FORBIDDEN", 0),
    "fraction": opening("tcp://127.0.0.1:FORBIDDEN", 1.5),
    "list": opening("tcp://127.0.0.1:FORBIDDEN", [1]),
    "too-many": opening("tcp://127.0.0.1:ALLOWED", 4),
    "list-of-urls": opening(["tcp://127.0.0.1:ALLOWED", "tcp://127.0.0.1:FORBIDDEN"]),
    "other-scheme": redirect("gopher://127.0.0.1:FORBIDDEN/"),
    "other-scheme-unix": redirect("file://READS/inside"),
}

# From a URL of the internet, where `opens` has every host with the port FORBIDDEN: the path, and
# what is said.
INSIDE = {
    **{name: ("say", opening(url, number)) for name, url, number in [
        ("loopback", "tcp://127.0.0.1:FORBIDDEN", 1), ("localhost", "tcp://localhost:FORBIDDEN", 1),
        ("localhost-dot", "tcp://localhost.:FORBIDDEN", 1),
        ("below-localhost", "tcp://a.localhost:FORBIDDEN", 1),
        ("other-loopback", "tcp://127.0.0.2:FORBIDDEN", 1),
        ("private", "tcp://10.0.0.1:FORBIDDEN", 1), ("zero", "tcp://0.0.0.0:FORBIDDEN", 1),
        ("v6", "tcp://[::1]:FORBIDDEN", 1), ("mapped", "tcp://[::ffff:127.0.0.1]:FORBIDDEN", 1),
        ("v6-zero", "tcp://[::]:FORBIDDEN", 1), ("number", "tcp://2130706433:FORBIDDEN", 1),
        ("short-number", "tcp://127.1:FORBIDDEN", 1), ("nought", "tcp://0:FORBIDDEN", 1),
        ("hexadecimal", "tcp://0x7f000001:FORBIDDEN", 1),
        ("octal", "tcp://0177.1:FORBIDDEN", 1), ("tls", "tls://127.0.0.1:FORBIDDEN", 1),
        ("udp", "udp://127.0.0.1:FORBIDDEN", 2), ("udp-name", "udp://localhost:FORBIDDEN", 2),
        ("udp-private", "udp://10.0.0.1:FORBIDDEN", 2)]},
    **{f"redirect-{name}": ("say", redirect(f"attacks://{host}:FORBIDDEN/greet"))
       for name, host in [("loopback", "127.0.0.1"), ("localhost", "localhost"), ("v6", "[::1]"),
                          ("private", "10.0.0.1"), ("number", "2130706433"),
                          ("mapped", "[::ffff:127.0.0.1]")]},
    # What is opened at once does not wait for the first connection.
    "redirect-open": ("say", {
        **redirect("attacks://127.0.0.1:ALLOWED/then"),
        "then": {"type": "open", "connection": 1, "url": "tcp://127.0.0.1:FORBIDDEN"}}),
}


class Doors:
    """Servers, in a network of their own where that can be had: the calling thread gets it."""

    def __init__(self, has_network):
        self.has_network = has_network
        self.listeners = []

    def run(self, body):
        failures = []

        def inside():
            try:
                if self.has_network:
                    self.make_network()
                self.listen()
                body()
            except BaseException as error:
                failures.append(error)
            finally:
                for _, listener in self.listeners:
                    listener.close()

        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        for error in failures:
            raise error

    @staticmethod
    def make_network():
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        for address in [PUBLIC, "10.0.0.1"]:
            subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)

    def listen(self):
        """Nothing needs to answer: what has come is counted afterwards."""
        hosts = ["127.0.0.1", "127.0.0.2", "::1"]
        hosts += [PUBLIC, "10.0.0.1"] if self.has_network else []
        self.ports = {}
        for name in ["CONTROL", "ALLOWED", "FORBIDDEN"]:
            for host in hosts:
                family = socket.AF_INET6 if ":" in host else socket.AF_INET
                for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM]:
                    listener = socket.socket(family, kind)
                    try:
                        listener.bind((host, self.ports.get(name, 0)))
                    except OSError:
                        # No IPv6 here, or another program has this one.
                        listener.close()
                        continue
                    if kind == socket.SOCK_STREAM:
                        listener.listen()
                    listener.setblocking(False)
                    self.ports.setdefault(name, listener.getsockname()[1])
                    is_first = host in ["127.0.0.1", PUBLIC] and kind == socket.SOCK_STREAM
                    what = {"CONTROL": "control", "ALLOWED": "allowed"}.get(name)
                    self.listeners.append((
                        what if is_first and what else f"{name} of {host}", listener))

    def opens(self, is_far):
        allowed, forbidden = self.ports["ALLOWED"], self.ports["FORBIDDEN"]
        if not is_far:
            return [f"tcp://{{host}}:{allowed}"]
        return [f"{kind}://*:{forbidden}" for kind in ["tcp", "tls", "udp"]]

    def url(self, is_far, path):
        return f"attacks://{PUBLIC if is_far else '127.0.0.1'}:{self.ports['CONTROL']}/{path}"

    def filled(self, event, reads):
        """As the program says it: a line of JSON."""
        words = {**{name: str(port) for name, port in self.ports.items()},
                 "BEYOND": str(self.ports["FORBIDDEN"] + 65536), "READS": str(reads)}
        text = json.dumps(event)
        for word, value in words.items():
            text = text.replace(word, value)
        return text

    def take(self):
        """What has been reached since the last time, but for the server of the URL."""
        found = set()
        for name, listener in self.listeners:
            with contextlib.suppress(BlockingIOError):
                while True:
                    if listener.type == socket.SOCK_STREAM:
                        listener.accept()[0].close()
                    else:
                        listener.recv(100)
                    found.add(name)
        return found - {"control"}
