#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Serves a directory with pituophis, twice, and a site with flask-gopher, on loopback only.

usage: gopher-servers.py DIRECTORY

The system picks the ports, which are reported. The second pituophis ends each reply with a dot.
"""

import asyncio
import sys
import threading

import pituophis
from flask import Flask, request
from flask_gopher import GopherExtension, GopherRequestHandler
from werkzeug.serving import make_server

create_server = asyncio.BaseEventLoop.create_server


def serve_directory(name, **options):
    is_there = threading.Event()

    # It would listen everywhere.
    async def on_loopback(loop, protocol, host, port, **other):
        server = await create_server(loop, protocol, "127.0.0.1", 0, **other)
        print(name, server.sockets[0].getsockname()[1], flush=True)
        is_there.set()
        return server

    asyncio.BaseEventLoop.create_server = on_loopback
    threading.Thread(
        target=pituophis.serve, daemon=True,
        kwargs={"host": "localhost", "pub_dir": sys.argv[1], "alt_handler": search, **options},
    ).start()
    is_there.wait()


def search(asked):
    """A search, where there is no such file."""
    if asked.path != "/search":
        return None
    return [pituophis.Item(text=f"you asked for {asked.query}")]


def site():
    app = Flask("site")
    gopher = GopherExtension(app)

    @app.route("/")
    def index():
        return gopher.render_menu(gopher.menu.file("a text", "/text"))

    @app.route("/text")
    def text():
        return "3 apples\tand\tpears\tand\r\nplums\r\n"

    @app.route("/search")
    def words():
        return gopher.render_menu(gopher.menu.info(
            "you asked for " + request.environ["SEARCH_TEXT"]))

    @app.route("/gone")
    def gone():
        return gopher.menu.entry("3", "it is gone", "fake", "example.com", 0) + "\r\n"

    return app


serve_directory("pituophis")
serve_directory("pituophis-dot", send_period=True)
server = make_server("127.0.0.1", 0, site(), request_handler=GopherRequestHandler)
print("flask-gopher", server.server_port, flush=True)
server.serve_forever()
