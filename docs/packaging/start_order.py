#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the functions that a start calls, in their order, for the linker: side by side in the
binary they lie on fewer pages. Names that a later binary lacks do no harm.

usage: start_order.py SMALLWEB LOOPBACK FILE
SMALLWEB has its symbols. Needs valgrind.
"""

import os
import re
import subprocess
import sys
import tempfile

smallweb, loopback, target = sys.argv[1:]
work = tempfile.mkdtemp()
# valgrind gives up on the debug information.
binary = work + "/smallweb"
subprocess.run(["strip", "-g", "-o", binary, smallweb], check=True)
server = subprocess.Popen([loopback, "--only", "gemini,gopher,http"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True)
places = {}
for line in server.stdout:
    words = line.split()
    if words[0] == "ready":
        break
    places[words[0]] = "%s://%s:%s" % tuple(words)

functions = {}
for words in [["-s", places["gopher"] + "/0/about.txt"], ["--json", places["gopher"] + "/1/"],
              ["-s", places["gemini"] + "/about"], ["-s", places["http"] + "/about"], ["--help"]]:
    subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + work + "/calls",
         "--demangle=no", "--compress-strings=no", binary, "get", *words],
        env={"HOME": work, "PATH": os.environ["PATH"]}, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name in re.findall(r"^c?fn=([^\s']+)", open(work + "/calls").read(), re.M):
        functions[name] = None
server.stdin.close()
server.wait()

# Only what the binary has: the rest is in libraries of the system.
symbols = subprocess.run(["nm", binary], check=True, capture_output=True, text=True).stdout
own = {line.split()[-1] for line in symbols.splitlines()}
with open(target, "w") as file:
    file.writelines(name + "\n" for name in functions if name in own)
