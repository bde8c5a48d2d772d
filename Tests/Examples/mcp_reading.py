#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds docs/examples/clients/smallweb_mcp.py against pages of a server at a public address.

usage: mcp_reading.py SERVER.py, where 11.0.0.1 is another machine that runs `mcp_reading.py --serve`
"""

import asyncio
import http.server
import os
import sys
import threading
import urllib.request
from urllib.parse import unquote

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

LONG = "".join(f"<p>{number}: \u00e4\u00f6\u00fc and <a href=/{number}>more</a>" for number in range(3000))
PAGES = {
    "/": ("text/html", "<h1>Title</h1><p>See <a href=/b>b</a>.<script>x</script><p><img src=i.png>"),
    "/long": ("text/html; charset=utf-8", LONG),
    "/robots.txt": ("text/plain", "User-agent: *\nDisallow: /private\n"),
    "/private": ("text/html", "<p>secret"),
    "/i.png": ("image/png", "\x89PNG"),
    "/log": ("text/html", "<h1>Log</h1><p><a href=/1>2026-01-02 One</a>"),
}
ASKED = []


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        PAGES["/asked"] = ("text/plain", "\n".join(ASKED))
        ASKED.append(self.path)
        path, _, query = self.path.partition("?")
        status = 200 if path in PAGES or query else 404
        kind, text = ("text/plain", f"found {unquote(query)}") if query else PAGES.get(path, ("text/plain", ""))
        body = text.encode("latin-1" if kind == "image/png" else "utf-8")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        words = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.path += "?" + words
        self.do_GET()

    def log_message(self, *_):
        pass


def asked(place):
    with urllib.request.urlopen(place + "/asked") as page:
        return page.read().decode().split("\n")


async def check(place, private):
    server = StdioServerParameters(command=sys.executable, args=[sys.argv[1]], env=dict(os.environ))
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()

        async def call(name, **given):
            result = await session.call_tool(name, given)
            return result.content[0].text, bool(getattr(result, "isError", getattr(result, "is_error", None)))

        names = {tool.name for tool in (await session.list_tools()).tools}
        assert names == {"read", "links", "feed", "search"}, names
        text, failed = await call("read", url=place + "/")
        assert not failed and text.strip() == f"# Title\n\nSee [b](<{place}/b>).", text
        assert await call("links", url=place + "/") == (f"{place}/b\tb", False)

        pieces, start = [], 0
        while start is not None:
            text, failed = await call("read", url=place + "/long", start=start)
            assert not failed, text
            piece, mark, rest = text.partition("\n\n[The page goes on: read it again with start ")
            pieces.append(piece)
            start = int(rest.rstrip(".]")) if mark else None
        assert len(pieces) > 5 and "".join(pieces).count("[more](<") == 3000
        assert asked(place).count("/long") == 1, "a second piece has asked the server"

        text, failed = await call("feed", url=place + "/log")
        assert not failed and f"=> {place}/1 2026-01-02 One" in text, text
        text, failed = await call("search", url=place + "/find", words="a b")
        assert not failed and text.strip() == "found a b", text

        for url, words in [
            (private + "/", "refused-address"), ("http://127.1/", "refused-address"),
            (place + "/private", "robots"), (place + "/gone", "permanent-failure"),
            (place + "/i.png", "not text"), ("file:///etc/passwd", ""), ("what?", ""),
        ]:
            # The links of a picture are none.
            for tool in ["read"] if url.endswith(".png") else ["read", "links"]:
                text, failed = await call(tool, url=url)
                assert failed and words in text and "root:" not in text, (tool, url, text)
        text, failed = await call("read")
        assert failed and text == "read needs url", text
        # It goes on after refusals.
        assert not (await call("read", url=place + "/"))[1]
    assert "/private" not in asked(place) and not ASKED


if sys.argv[1] == "--serve":
    # The address may come later.
    http.server.ThreadingHTTPServer(("", 80), Pages).serve_forever()
own = http.server.ThreadingHTTPServer(("127.0.0.1", 80), Pages)
threading.Thread(target=own.serve_forever, daemon=True).start()
asyncio.run(check("http://11.0.0.1", "http://127.0.0.1"))
print("ok")
