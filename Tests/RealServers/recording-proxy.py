#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Passes connections on to a server and writes down what goes over them, on loopback only.

usage: recording-proxy.py DIRECTORY HOST PORT [--tls PEM | --udp]

DIRECTORY gets what clients sent over connection N, from 0, as N.request, and what they were sent as
N.response. With --tls clients speak TLS, the server does not, and what is written is what is within
it. With --udp there is one connection, of datagrams. The system picks the port, which is reported.
"""

import argparse
import socket
import ssl
import threading


def relay(read, write, log):
    """Until the end of what is read; the log has it before the other side."""
    with log:
        while data := read(65536):
            log.write(data)
            log.flush()
            write(data)


class Connection:
    def __init__(self, client, server, logs, wraps):
        self.client, self.server, self.wraps = client, server, wraps
        self.sent, self.received = logs

    def serve(self):
        if self.wraps:
            self.client = self.wraps(self.client)
        back = threading.Thread(target=self.answer)
        back.start()
        try:
            relay(self.client.recv, self.server.sendall, self.sent)
            self.server.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        back.join()
        self.client.close()
        self.server.close()

    def answer(self):
        try:
            relay(self.server.recv, self.client.sendall, self.received)
            if self.wraps:
                self.client = self.client.unwrap()
            self.client.shutdown(socket.SHUT_WR)
        except (OSError, ValueError):
            pass


def datagrams(place, logs):
    front, back = (socket.socket(type=socket.SOCK_DGRAM) for _ in range(2))
    front.bind(("127.0.0.1", 0))
    back.connect(place)
    print("port", front.getsockname()[1], flush=True)
    client = []

    def send(data):
        front.sendto(data, client[0])

    def receive(size):
        data, sender = front.recvfrom(size)
        client[:] = [sender]
        return data

    threading.Thread(target=relay, args=(back.recv, send, logs[1]), daemon=True).start()
    relay(receive, back.send, logs[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--tls")
    parser.add_argument("--udp", action="store_true")
    options = parser.parse_args()
    place = options.host, options.port

    def logs(number):
        return [
            open(f"{options.directory}/{number}.{name}", "wb") for name in ("request", "response")
        ]

    if options.udp:
        return datagrams(place, logs(0))
    wraps = None
    if options.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.tls)

        def wraps(client):
            return context.wrap_socket(client, server_side=True, suppress_ragged_eofs=True)

    listener = socket.create_server(("127.0.0.1", 0))
    print("port", listener.getsockname()[1], flush=True)
    number = 0
    while True:
        client, _ = listener.accept()
        connection = Connection(client, socket.create_connection(place), logs(number), wraps)
        threading.Thread(target=connection.serve, daemon=True).start()
        number += 1


main()
