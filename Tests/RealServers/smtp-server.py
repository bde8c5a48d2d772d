# SPDX-License-Identifier: MIT
"""aiosmtpd on 127.0.0.1, which wants STARTTLS and a password: smtp-server.py CERTIFICATE DIRECTORY.

It prints its port, and writes each mail into DIRECTORY under its recipient's name."""
import asyncio
import pathlib
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


class Mailbox:
    async def handle_DATA(self, server, session, envelope):
        pathlib.Path(sys.argv[2], envelope.rcpt_tos[0]).write_bytes(envelope.original_content)
        return "250 taken"


def knows(server, session, envelope, mechanism, data):
    return AuthResult(success=(data.login, data.password) == (b"me", b"p@ss"), handled=False)


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    server = await asyncio.get_running_loop().create_server(
        lambda: SMTP(Mailbox(), tls_context=context, require_starttls=True, auth_required=True,
                     authenticator=knows), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
