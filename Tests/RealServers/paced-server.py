#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A gopher server of many hosts, each of which has an address or a port of its own.

usage: paced-server.py HOSTS LOG
       paced-server.py --everywhere LOG
       paced-server.py --check LOG SECONDS

Listens on HOSTS ports of 127.0.0.1, or on one port of all addresses, for a network namespace that
has nothing but a loopback. Prints a port per line, all picked by the system, then "ready"; notes in
LOG between which moments each host was asked for what, which are far apart when the server itself
had to wait for the processor. --check fails if a host was asked twice for certain within SECONDS.
"""

import collections
import selectors
import socket
import sys
import time


def check(log, seconds):
    times = collections.defaultdict(list)
    with open(log, encoding="utf-8") as file:
        for line in file:
            host, first, last, _ = line.split("\t")
            times[host].append((float(first), float(last)))
    gaps = [(later[1] - sooner[0], host) for host, all in times.items()
            for sooner, later in zip(sorted(all), sorted(all)[1:])]
    print("%d hosts, %d requests, shortest pause %.3f s at %s" % (
        (len(times), sum(map(len, times.values()))) + min(gaps, default=(0, "-"))))
    return 1 if not times or any(gap < seconds for gap, _ in gaps) else 0


def accept(listener, selector, since):
    while True:
        try:
            connection = listener.accept()[0]
        except BlockingIOError:
            return
        selector.register(connection, selectors.EVENT_READ, (since, time.time()))


def serve(listeners, log):
    selector = selectors.DefaultSelector()
    for listener in listeners:
        listener.setblocking(False)
        selector.register(listener, selectors.EVENT_READ)
        print(listener.getsockname()[1], flush=True)
    print("ready", flush=True)
    looked = time.time()
    while True:
        # What comes now was not there when we looked the last time.
        last, looked = looked, time.time()
        for key, _ in selector.select(timeout=0.02):
            if key.data is None:
                accept(key.fileobj, selector, last)
                continue
            connection = key.fileobj
            selector.unregister(connection)
            try:
                wanted = connection.recv(4096).decode().strip()
                host = "%s:%d" % connection.getsockname()
                log.write("%s\t%.6f\t%.6f\t%s\n" % ((host,) + key.data + (wanted,)))
                connection.sendall(("page %s of %s\r\n" % (wanted, host)).encode())
            except (OSError, UnicodeDecodeError):
                # A client that was killed, or looks for another server.
                pass
            connection.close()
        # A client that has its page may look for it.
        log.flush()


if sys.argv[1] == "--check":
    sys.exit(check(sys.argv[2], float(sys.argv[3])))
with open(sys.argv[2], "a", encoding="utf-8") as opened:
    if sys.argv[1] == "--everywhere":
        serve([socket.create_server(("", 0), backlog=4096)], opened)
    serve([socket.create_server(("127.0.0.1", 0), backlog=256)
           for _ in range(int(sys.argv[1]))], opened)
