# SPDX-License-Identifier: MIT
"""Plugins that are programs, for `make soak`: a good one, and what no program should do."""

import json
import os

SCHEMES = {"trial": "none", "asks": "tcp"}

# By the path of the URL. What has no end here is over by itself after a while.
PROGRAM = r"""#!/bin/sh
case $SMALLWEB_PATH in
/page) echo '{"type":"head","class":"success","mime":"text/plain"}' >&3; seq 1000 >&4 ;;
/empty) ;;
/files) for i in 1 2 3; do head -c 100000 /dev/zero >"$TMPDIR/$i"; done; wc -c "$TMPDIR"/* >&4 ;;
/child) (echo from a child >&4) & wait ;;
/asks) printf '%s\r\n' 1k; exec cat >&4 ;;
/dies) kill -9 $$ ;;
/status) echo no >&2; exit 3 ;;
/silent) sleep 60 ;;
/garbage) head -c 70000 /dev/zero >&3 ;;
/long-line) head -c 200000 /dev/zero | tr '\0' a >&3 ;;
/notes) yes '{"type":"note","code":"x","message":"y"}' | head -n 200000 >&3; exit 1 ;;
/words) echo '{"type":"fail","outcome":"ok"}' >&3 ;;
/fails) echo '{"type":"fail","outcome":"refused","message":"as asked"}' >&3 ;;
/more) echo '{"type":"head","class":"success","size":3}' >&3; echo more than three >&4 ;;
/full) head -c 300000000 /dev/zero >"$TMPDIR/full"; sleep 9; exit 1 ;;
/leaves) for i in 1 2 3 4 5; do (trap '' TERM HUP; sleep 60) & done; exit 1 ;;
/many) for i in $(seq 100); do sleep 9 & done; wait; exit 1 ;;
/errors) yes | head -c 2000000 >&2; exit 1 ;;
esac
"""

HONEST = ["page", "empty", "files", "child"]
RUDE = ["dies", "status", "silent", "garbage", "long-line", "notes", "words", "fails", "more",
        "full", "leaves", "many", "errors"]


def start(work, finger):
    """Makes them below `work`. `finger` is a server of ours that takes a line.

    Returns the options that name them, and URLs by name: honest ones, and others."""
    options = []
    for scheme, transport in SCHEMES.items():
        folder = os.path.join(work, scheme)
        os.mkdir(folder, 0o755)
        with open(os.path.join(folder, "plugin.json"), "w", encoding="ascii") as file:
            json.dump({"v": 1, "name": scheme, "version": "1", "summary": "For a soak.",
                       "program": ["./program"], "limits": {"memory_bytes": 64 << 20},
                       "schemes": [{"name": scheme, "transport": transport, "mime": "text/plain",
                                    "port": 79 if transport == "tcp" else 0}]}, file)
        path = os.path.join(folder, "program")
        with open(path, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        os.chmod(path, 0o755)
        options += ["--plugin", folder]
    honest = {f"program: {name}": f"trial://h/{name}" for name in HONEST}
    honest["program: asks"] = f"asks://{finger}/asks"
    return options, honest, {f"program: {name}": f"trial://h/{name}" for name in RUDE}
