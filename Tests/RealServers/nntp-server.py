# SPDX-License-Identifier: MIT
"""A news server on 127.0.0.1 with STARTTLS, for the example plugin: nntp-server.py CERTIFICATE.

With `--inject` as its last word it sends a line in clear behind its agreement to TLS."""
import socketserver
import ssl
import sys

ARTICLES = {n: f"Subject: Article {n}\r\nFrom: ada@example.org\r\n\r\n..dot {n}\r\n" for n in (1, 2)}
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


class Reader(socketserver.StreamRequestHandler):
    def say(self, *lines):
        self.wfile.write("".join(line + "\r\n" for line in lines).encode())

    def handle(self):
        is_secure = is_known = False
        self.say("200 ready")
        while line := self.rfile.readline().decode().strip():
            word, *rest = line.split(" ")
            if word == "STARTTLS" and not is_secure:
                self.say("382 go", *(["281 in"] if "--inject" in sys.argv else []))
                self.connection = CONTEXT.wrap_socket(self.connection, server_side=True)
                self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
                is_secure = True
            elif word == "AUTHINFO" and not is_secure:
                self.say("483 not in clear")
            elif line == "AUTHINFO USER me":
                self.say("381 password")
            elif line == "AUTHINFO PASS secret":
                is_known = True
                self.say("281 welcome")
            elif not is_known and word != "QUIT":
                self.say("480 who are you?")
            elif word == "LIST":
                self.say("215 groups", "a.group 2 1 y", ".")
            elif word == "GROUP":
                self.say("211 2 1 2 a.group" if rest == ["a.group"] else "411 none")
            elif word == "OVER":
                self.say("224 overview", *(f"{n}\tArticle {n}\tada\t1 Jan\t<{n}@h>\t\t9\t1" for n in ARTICLES), ".")
            elif word == "ARTICLE":
                self.wfile.write(f"220 {rest[0]} <m>\r\n{ARTICLES[int(rest[0])]}.\r\n".encode())
            else:
                self.say("205 bye")
                break


CONTEXT.load_cert_chain(sys.argv[1])
socketserver.ThreadingTCPServer.allow_reuse_address = True
with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Reader) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
