#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The least crawler: `smallweb get --json --with-links -` as a co-process, a set as its memory.

usage: crawl.py PREFIX [PAGES]

Follows the links of pages whose URLs begin with PREFIX, at most PAGES (100), and prints the outcome and URL of
each. `smallweb crawl` keeps its state in a file and knows traps; this is for those who want it their own way.
"""

import json
import subprocess
import sys

OPTIONS = ["--json", "--with-links", "--body", "none", "-s", "--robots", "-j", "16", "--per-host", "1",
           "--per-host-delay", "1"]


def crawl(prefix, limit, options=()):
    """Yields the records of pages as they come."""
    web = subprocess.Popen(["smallweb", "get", *OPTIONS, *options, "-"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    known, waiting, under_way, links = {prefix}, [prefix], 0, []

    def ask():
        # smallweb reads its next request when there is room: a few at a time never fill both pipes.
        nonlocal under_way
        while waiting and under_way < 64:
            web.stdin.write(json.dumps({"url": waiting.pop(0)}).encode() + b"\n")
            under_way += 1
        web.stdin.flush()

    ask()
    while under_way:
        line = web.stdout.readline()
        if not line:
            break
        record = json.loads(line)
        if record["type"] == "link":
            links.append(record["url"])
        elif record["type"] in ("response", "error"):
            under_way -= 1
            yield record
            for url in links:
                url = url and url.split("#")[0]
                if url and url.startswith(prefix) and url not in known and len(known) < limit:
                    known.add(url)
                    waiting.append(url)
            links = []
            ask()
    web.stdin.close()
    web.wait()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    for page in crawl(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100):
        print(page["outcome"], page["url"], sep="\t", flush=True)
