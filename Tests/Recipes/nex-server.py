# SPDX-License-Identifier: MIT
"""A Nex server of a directory, on a port that the system picks, which it prints."""
import os
import socketserver
import sys

ROOT = os.path.realpath(sys.argv[1])


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        path = self.rfile.readline(2048).decode().rstrip('\r\n')
        place = os.path.realpath(os.path.join(ROOT, path.lstrip('/')))
        if not place.startswith(ROOT):
            return
        if os.path.isdir(place):
            index = os.path.join(place, 'index')
            if os.path.exists(index):
                place = index
            else:
                for name in sorted(os.listdir(place)):
                    slash = '/' if os.path.isdir(os.path.join(place, name)) else ''
                    self.wfile.write(f'=> {name}{slash}\n'.encode())
                return
        if os.path.exists(place):
            with open(place, 'rb') as file:
                self.wfile.write(file.read())


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


with Server(('127.0.0.1', 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
