#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Serves a directory and some paths that take data with jayhawk, on loopback only.

usage: spartan-server.py DIRECTORY

DIRECTORY has a directory for each host. The system picks the port, which is reported. Each request
is a line of DIRECTORY/requests: the host, the path, the data in hexadecimal.
"""

import sys

import jayhawk

root = sys.argv[1]


class Site(jayhawk.FileBasedSpartanHandler):
    def handle_request(self, host, path, data=b""):
        with open(root + "/requests", "a", encoding="ascii") as log:
            log.write("%s %s %s\n" % (host, path, data.hex()))
        if path == "/echo":
            self.response_code(2, "application/octet-stream")
            self.wfile.write(data)
        elif path == "/guestbook" and data:
            self.response_code(3, "/guestbook")
        elif path == "/guestbook":
            self.response_code(2, "text/gemini")
            self.wfile.write(b"# Guestbook\n=: /guestbook Sign\n=> page.gmi Page\n")
        elif path == "/away":
            self.response_code(3, "spartan://%s/page.gmi" % host)
        else:
            super().handle_request(host, path, data)


# The package keeps the class, without a directory, among what it exports.
Site.root = root
server = jayhawk.serve(Site, ("127.0.0.1", 0), ret=True)
print("jayhawk", server.server_address[1], flush=True)
server.serve_forever()
