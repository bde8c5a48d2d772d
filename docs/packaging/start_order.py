#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the functions and variables that a start uses, in their order, for the linker: side by
side in the binary they lie on fewer pages. Names that a later binary lacks do no harm.

usage: start_order.py SMALLWEB LOOPBACK FILE
SMALLWEB has its symbols. Needs valgrind, and takes some minutes.
"""

import bisect
import os
import subprocess
import sys
import tempfile

# Where valgrind loads a program that can be anywhere, and the dynamic linker. That writes to all
# that is relocated, whether it is used or not.
LOADED = 0x108000
LINKER = range(0x4000000, 0x4040000)

smallweb, loopback, target = sys.argv[1:]
work = tempfile.mkdtemp()
# valgrind gives up on the debug information.
binary = work + "/smallweb"
subprocess.run(["strip", "-g", "-o", binary, smallweb], check=True)

symbols = []
for line in subprocess.run(["nm", "-n", binary], check=True, capture_output=True,
                           text=True).stdout.splitlines():
    words = line.split()
    if len(words) == 3:
        symbols.append((int(words[0], 16) + LOADED, words[2]))
places = [place for place, _ in symbols]
last = places[-1]
server = subprocess.Popen([loopback, "--only", "gemini,gopher,http,git"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True)
urls = {}
for line in server.stdout:
    words = line.split()
    if words[0] == "ready":
        break
    urls[words[0]] = "%s://%s:%s" % tuple(words)

used = {}
for words in [["get", "-s", urls["gopher"] + "/0/about.txt"],
              ["refs", urls["git"] + "/demo.git"],
              ["get", "--json", urls["gopher"] + "/1/"],
              ["get", "-s", urls["gemini"] + "/about"], ["get", "-s", urls["http"] + "/about"],
              ["get", "--help"]]:
    trace = subprocess.Popen(
        ["valgrind", "--tool=lackey", "--trace-mem=yes", binary, *words],
        env={"HOME": work, "PATH": os.environ["PATH"]}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    seen = set()
    linking = True
    for line in trace.stderr:
        # `I  00109c40,3`, ` L 1fff000710,8`, and S and M for stores and changes.
        if line[0] not in b"I ":
            continue
        place = int(line[3:line.index(b",")], 16)
        if line[0] == ord("I"):
            linking = place in LINKER
        if LOADED <= place <= last and not linking and place not in seen:
            seen.add(place)
            used[bisect.bisect_right(places, place) - 1] = None
    if trace.wait() != 0:
        sys.exit("start_order.py: failed: smallweb " + " ".join(words))
server.stdin.close()
server.wait()

names = {}
for index in used:
    # A symbol may have several names.
    place = places[index]
    for place, name in symbols[bisect.bisect_left(places, place):index + 1]:
        names[name] = None
if "_start" not in names:
    sys.exit("start_order.py: valgrind loads the program elsewhere")
with open(target, "w") as file:
    file.writelines(name + "\n" for name in names)
