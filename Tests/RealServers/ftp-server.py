# SPDX-License-Identifier: MIT
"""pyftpdlib on a port of its own: ftp-server.py FOLDER CERTIFICATE plain|tls|v6."""
import sys

from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler, TLS_FTPHandler
from pyftpdlib.servers import FTPServer

folder, certificate, kind = sys.argv[1:]
handler = TLS_FTPHandler if kind == "tls" else FTPHandler
handler.authorizer = DummyAuthorizer()
handler.authorizer.add_anonymous(folder)
handler.authorizer.add_user("me", "p@ss", folder, perm="elradfmw")
if kind == "tls":
    handler.certfile = certificate
    handler.tls_control_required = handler.tls_data_required = True
server = FTPServer(("::1" if kind == "v6" else "127.0.0.1", 0), handler)
print(server.address[1], flush=True)
server.serve_forever()
