#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Serves the repositories below a directory with dulwich, over git:// and HTTP, and with klaus.

usage: git-servers.py DIRECTORY REPOSITORY...    the names are those that klaus serves

The servers are those of `dulwich daemon`, `dulwich web-daemon` and `klaus --smarthttp`, but on ports
that the system picks, which are reported as they are there.
"""

import os
import sys
import threading
from wsgiref.simple_server import make_server

import klaus
from dulwich.server import FileSystemBackend, TCPGitServer
from dulwich.web import WSGIRequestHandlerLogger, WSGIServerLogger, make_wsgi_chain


class Below(FileSystemBackend):
    """What a URL names is below the directory, not below the root of the file system."""

    def open_repository(self, path):
        return super().open_repository(os.fsdecode(path).lstrip("/"))


def main():
    directory, *names = sys.argv[1:]
    git = TCPGitServer(Below(directory), "127.0.0.1", 0)
    web = make_server(
        "127.0.0.1", 0, make_wsgi_chain(Below(directory)),
        handler_class=WSGIRequestHandlerLogger, server_class=WSGIServerLogger)
    site = klaus.make_app([os.path.join(directory, name) for name in names], "test", True)
    pages = make_server("127.0.0.1", 0, site)
    for server in git, web:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("dulwich git", git.server_address[1])
    print("dulwich web", web.server_address[1])
    print("klaus", pages.server_address[1], flush=True)
    pages.serve_forever()


main()
