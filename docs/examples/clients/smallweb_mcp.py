#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server of the Model Context Protocol over standard input and output: pages for a language model.

usage: smallweb_mcp.py [SMALLWEB-OPTION…]

Its tools read pages of every scheme as Markdown and in pieces, list their links, read feeds, and answer
pages that ask for words. Private addresses are never asked, robots files hold, each page has a limit of
size and time, and what was read is kept for ten minutes. SMALLWEB names the program.
"""

import json
import os
import subprocess
import sys

SMALLWEB = os.environ.get("SMALLWEB", "smallweb")
SAFE = ["--public-only", "--cache", "--max-age", "10m", "--max-filesize", "16M", "--max-time", "60"]
VERSIONS = ["2025-06-18", "2025-03-26", "2024-11-05"]
PIECE = 16_000

URL = {"type": "string", "description": "A URL in full, such as gemini://geminiprotocol.net/"}
TOOLS = {
    "read": ("Read a page as Markdown; a long one comes in pieces.", {
        "url": URL,
        "start": {"type": "integer", "minimum": 0, "description": "Where the last piece said to go on."},
    }, ["url"]),
    "links": ("List the links of a page: a line with URL and text for each.", {"url": URL}, ["url"]),
    "feed": ("List the dated entries of a page or its feed, the newest first.", {"url": URL}, ["url"]),
    "search": ("Send words to a page that asks for them, such as a search, and read the answer.", {
        "url": URL, "words": {"type": "string"},
    }, ["url", "words"]),
}


class Refusal(Exception):
    pass


class Smallweb:
    """A running `smallweb get --json -`, which is asked for one page after the other."""

    def __init__(self, options):
        self.options, self._process = options, None

    def get(self, url, **members):
        if self._process is None or self._process.poll() is not None:
            command = [SMALLWEB, "get", "--json", "-s", "--render", "markdown", "--with-links",
                       "--robots", *SAFE, *self.options, "-"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            print(json.dumps({**members, "url": url}), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            pass  # Its end is seen below.
        before = []
        for record in map(json.loads, self._process.stdout):
            if record["type"] not in ("response", "error"):
                before.append(record)
            elif record["ok"]:
                return before, record
            else:
                error = record.get("error") or {}
                words = [f"{record['outcome']}:", error.get("message"), error.get("hint")]
                raise Refusal(" ".join(filter(None, words)))
        raise Refusal(f"smallweb has ended with {self._process.wait()}")


def feed(web, url):
    web.get(url, body="none")  # It obeys robots files; the page is in the cache then.
    command = [SMALLWEB, "feed", "--format", "gemtext", *SAFE, *web.options, "--", url]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise Refusal(done.stderr.strip() or f"exit status {done.returncode}")
    return done.stdout


def page(web, url, start=0, **members):
    _, record = web.get(url, slice=f"{start}:{PIECE}", **members)
    body = record.get("body") or {}
    if "text" not in body:
        raise Refusal(f"{record.get('mime')} is not text")
    text = body["text"]
    if body.get("next") is not None:
        text += f"\n\n[The page goes on: read it again with start {body['next']}.]"
    return text


def links(web, url):
    records, _ = web.get(url, slice="0:16")
    found = [f"{link['url']}\t{link['text']}" for link in records
             if link["type"] == "link" and link["url"]]
    return "\n".join(found) or "The page has no links."


def call(web, name, given):
    if name not in TOOLS:
        raise Refusal(f"there is no tool {name}")
    if missing := [key for key in TOOLS[name][2] if not isinstance(given.get(key), str)]:
        raise Refusal(f"{name} needs {' and '.join(missing)}")
    if name == "links":
        return links(web, given["url"])
    if name == "feed":
        return feed(web, given["url"])
    if name == "search":
        return page(web, given["url"], data=given["words"])
    return page(web, given["url"], int(given.get("start") or 0))


def answer(web, method, parameters):
    if method == "initialize":
        wanted = parameters.get("protocolVersion")
        return {"protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "smallweb", "version": "1"}}
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [
            {"name": name, "description": text, "annotations": {"readOnlyHint": name != "search"},
             "inputSchema": {"type": "object", "properties": properties, "required": required}}
            for name, (text, properties, required) in TOOLS.items()]}
    if method != "tools/call":
        return None
    try:
        text, failed = call(web, parameters.get("name"), parameters.get("arguments") or {}), False
    except (Refusal, ValueError) as refusal:
        text, failed = str(refusal), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def main():
    web = Smallweb(sys.argv[1:])
    for line in sys.stdin:
        try:
            request = json.loads(line)
            method, number = request["method"], request.get("id")
        except (ValueError, KeyError, TypeError):
            continue  # Neither a request nor a notification.
        if number is None:
            continue
        result = answer(web, method, request.get("params") or {})
        reply = {"result": result} if result is not None else {
            "error": {"code": -32601, "message": f"there is no method {method}"}}
        print(json.dumps({"jsonrpc": "2.0", "id": number, **reply}), flush=True)


if __name__ == "__main__":
    main()
