# SPDX-License-Identifier: MIT
"""What each part of smallweb took, from `perf script -F ip,sym,dso` on standard input.

usage: parts.py WHOLE [HASH]

WHOLE is what all samples stand for, HASH what of it is known to be the body's hash; without it all
of libcrypto is, as where there is no TLS. A sample belongs to the innermost frame that tells.
The rest is reading the list, ordering, the plugin, trust. Unknown is what the stack does not tell:
OpenSSL keeps no frame pointers, so the memory that it takes is there, and preemption.
"""

import re
import sys

KERNEL_NETWORK = re.compile(r"sock|tcp_|inet|epoll|net_rx|skb|^ip_|sys_(connect|accept|send|recv)")
RULES = [
    # In the kernel, wherever it was interrupted to handle what came in.
    ("network", re.compile(r"kernel"), KERNEL_NETWORK),
    ("crypto", re.compile(r"libcrypto"), None),
    ("tls", re.compile(r"libssl"), None),
    ("network", re.compile(r"libcurl|libnghttp2|libpsl|libidn2"), None),
    ("hash", None, re.compile(r"SmallWebCore6Digest")),
    ("tls", None, re.compile(r"SmallWebTransport\d+\w*TLS|SmallWebTransport\d+OpenSSL")),
    ("rest", None, re.compile(r"SmallWebTransport9EventLoopC7runJobs")),
    ("network", None, re.compile(r"^\$s17SmallWebTransport")),
    ("record", None, re.compile(r"SmallWebRecords\d+Record|SmallWebText\w*JSON"
                                r"|SmallWebCLI\d+Standard")),
    # All else of ours: further out is the event loop, which calls everything.
    ("rest", None, re.compile(r"^\$s\d+(?!\w+10systemCall)(SmallWeb|\w+Plugin)")),
]
FRAME = re.compile(r"^\s+[0-9a-f]+ (.*) \((.*)\)$")
PARTS = ["network", "tls", "record", "hash", "rest", "unknown"]


def part(frames):
    for symbol, library in frames:
        for name, libraries, symbols in RULES:
            if (not libraries or libraries.search(library)) and (
                    not symbols or symbols.search(symbol)):
                return name
    return "unknown"


def samples(lines):
    frames = []
    for line in lines:
        match = FRAME.match(line)
        if match:
            frames.append(match.groups())
        elif not line.strip() and frames:
            yield frames
            frames = []
    if frames:
        yield frames


def main():
    whole = float(sys.argv[1])
    counts = dict.fromkeys(PARTS + ["crypto"], 0)
    for frames in samples(sys.stdin):
        counts[part(frames)] += 1
    total = sum(counts.values())
    if total == 0:
        sys.exit("parts.py: perf has no samples")
    cost = {name: whole * count / total for name, count in counts.items()}
    of_tls = 0.0
    if len(sys.argv) > 2:
        of_tls = max(0.0, cost["crypto"] + cost["hash"] - float(sys.argv[2]))
    cost["hash"] += cost["crypto"] - of_tls
    cost["tls"] += of_tls
    for name in PARTS:
        print("%s %.2f" % (name, cost[name]))


main()
