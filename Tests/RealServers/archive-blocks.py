#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the blocks of an archive with what recording-proxy.py wrote down.

usage: archive-blocks.py ARCHIVE DIRECTORY RECEIVED [--datagrams]

All requests behind one another must be what all connections sent, and all responses what they were
sent; with --datagrams its beginning, as a client may leave before the last one. Of HTTP, what
docs/warc.md says of chunks is done first. RECEIVED is what the client made of the last response,
with which that must end; "-" for nothing of it.
"""

import pathlib
import sys

from warcio.archiveiterator import ArchiveIterator


def blocks(archive, kind):
    with open(archive, "rb") as file:
        for record in ArchiveIterator(file, no_record_parse=True):
            if record.rec_type == kind:
                yield record.content_stream().read()


def logged(directory, kind):
    number = 0
    while (path := pathlib.Path(directory, f"{number}.{kind}")).exists():
        yield path.read_bytes()
        number += 1


def message(data):
    """The first message of HTTP as an archive has it, and what is behind it."""
    head, _, rest = data.partition(b"\r\n\r\n")
    fields = head.split(b"\r\n")
    values = {}
    for field in fields[1:]:
        name, _, value = field.partition(b":")
        values[name.strip().lower()] = value.strip()
    if values.get(b"transfer-encoding", b"").lower() == b"chunked":
        body = b""
        while True:
            size, _, rest = rest.partition(b"\r\n")
            size = int(size.split(b";")[0], 16)
            body, rest = body + rest[:size], rest[size + 2:]
            if size == 0:
                break
        named = (b"transfer-encoding", b"content-length")
        fields = [f for f in fields if f.partition(b":")[0].strip().lower() not in named]
        fields.append(b"Content-Length: %d" % len(body))
    elif b"content-length" in values:
        size = int(values[b"content-length"])
        body, rest = rest[:size], rest[size:]
    elif fields[0].startswith(b"HTTP/"):
        body, rest = rest, b""
    else:
        body = b""
    return b"\r\n".join(fields) + b"\r\n\r\n" + body, rest


def as_archived(data):
    if b" HTTP/1." not in data.partition(b"\r\n")[0] and not data.startswith(b"HTTP/1."):
        return data
    messages = b""
    while data:
        first, data = message(data)
        messages += first
    return messages


def main():
    archive, directory, received, *flags = sys.argv[1:]
    for kind in "request", "response":
        written = b"".join(blocks(archive, kind))
        seen = b"".join(map(as_archived, logged(directory, kind)))
        if flags:
            seen = seen[: len(written)]
        if not written or written != seen:
            sys.exit(f"{kind}: {len(written)} bytes in the archive, {len(seen)} on the wire")
    if received != "-":
        body = pathlib.Path(received).read_bytes()
        *_, last = blocks(archive, "response")
        if not body or not last.endswith(body):
            sys.exit(f"the last response does not end with the {len(body)} bytes that came out")


main()
