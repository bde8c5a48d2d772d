#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A gopher server on many ports of 127.0.0.1, which are as many hosts to a client.

usage: paced-server.py HOSTS LOG
       paced-server.py --check LOG SECONDS

Prints a port per line, all picked by the system, then "ready"; notes in LOG between which moments
each was asked for what, which are far apart when the server itself had to wait for the processor.
--check fails if a host was asked twice for certain within SECONDS.
"""

import collections
import selectors
import socket
import sys
import time


def check(log, seconds):
    times = collections.defaultdict(list)
    for line in open(log, encoding="utf-8"):
        port, first, last, _ = line.split("\t")
        times[port].append((float(first), float(last)))
    gaps = [(later[1] - sooner[0], port) for port, all in times.items()
            for sooner, later in zip(sorted(all), sorted(all)[1:])]
    print("%d hosts, %d requests, shortest pause %.3f s at port %s" % (
        (len(times), sum(map(len, times.values()))) + min(gaps, default=(0, "-"))))
    return 1 if not times or any(gap < seconds for gap, _ in gaps) else 0


def accept(listener, selector, since):
    while True:
        try:
            connection = listener.accept()[0]
        except BlockingIOError:
            return
        selector.register(connection, selectors.EVENT_READ, (since, time.time()))


def serve(hosts, log):
    selector = selectors.DefaultSelector()
    for _ in range(hosts):
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        listener.setblocking(False)
        selector.register(listener, selectors.EVENT_READ)
        print(listener.getsockname()[1], flush=True)
    print("ready", flush=True)
    looked = time.time()
    while True:
        # What comes now was not there when we looked the last time.
        last, looked = looked, time.time()
        ready = selector.select(timeout=0.02)
        for key, _ in ready:
            if key.data is None:
                accept(key.fileobj, selector, last)
                continue
            connection = key.fileobj
            selector.unregister(connection)
            try:
                wanted = connection.recv(4096).decode().strip()
                port = connection.getsockname()[1]
                with open(log, "a", encoding="utf-8") as file:
                    file.write("%d\t%.6f\t%.6f\t%s\n" % ((port,) + key.data + (wanted,)))
                connection.sendall(("page %s of %d\r\n" % (wanted, port)).encode())
            except OSError:
                # A client that was killed.
                pass
            connection.close()


if sys.argv[1] == "--check":
    sys.exit(check(sys.argv[2], float(sys.argv[3])))
serve(int(sys.argv[1]), sys.argv[2])
