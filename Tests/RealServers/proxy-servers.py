#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Watches the wire between the two networks of proxies.sh, and plays the proxies that Debian lacks.

usage: proxy-servers.py DEVICE ADDRESSES PORTS DIRECTORY    lists have commas

What arrives on DEVICE is written to DIRECTORY/packets, one a line, unless it is TCP to one of the
ADDRESSES, which are the proxies', and one of the PORTS, which are those that they listen on. Of
other connections only the first packet is. A datagram to port 9 is a mark: its text becomes a line
of DIRECTORY/marks, after all packets before it.

It answers every look-up with "no such name", listens on port 1999 and says nothing, and is a SOCKS
server on port 1990 that takes any user: DIRECTORY/users says who asked for which host and port.
"""

import ipaddress
import socket
import struct
import sys
import threading

IPV4, IPV6 = 0x0800, 0x86DD
PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmpv6"}
SYN = 2
# Multicast listener and neighbour discovery: what every link has.
LINK_NOISE = {130, 131, 132, 133, 134, 135, 136, 137, 143}


def question(datagram):
    """The name that a look-up asks for."""
    labels, at = [], 12
    while at < len(datagram) and datagram[at]:
        labels.append(datagram[at + 1:at + 1 + datagram[at]].decode("ascii", "replace"))
        at += 1 + datagram[at]
    return ".".join(labels)


def describe(kind, packet, addresses, ports):
    """What the log says of a packet: None if it goes to a proxy, (mark, text) or (False, text)."""
    if kind == IPV4:
        size, protocol = (packet[0] & 15) * 4, packet[9]
        target = ipaddress.ip_address(packet[16:20])
    else:
        size, protocol = 40, packet[6]
        target = ipaddress.ip_address(packet[24:40])
        if protocol == 0:
            protocol, size = packet[40], 48 + packet[41] * 8
    data = packet[size:]
    name = PROTOCOLS.get(protocol, str(protocol))
    if protocol == 58 and data[0] in LINK_NOISE:
        return None
    if protocol not in (6, 17):
        return False, "%s %s" % (name, target)
    port, = struct.unpack_from("!H", data, 2)
    if protocol == 17 and port == 9:
        return True, data[8:].decode("ascii", "replace")
    # Connections are counted by how they begin: the ends of those before may come late.
    if protocol == 6 and (data[13] & SYN == 0 or str(target) in addresses and port in ports):
        return None
    text = "%s %s %d" % (name, target, port)
    if protocol == 17 and port == 53:
        text += " look-up of " + question(data[8:])
    return False, text


def count(wire, addresses, ports, directory):
    with open(directory + "/marks", "a") as marks, open(directory + "/packets", "a") as packets:
        while True:
            packet, (_, kind, direction, *_) = wire.recvfrom(65536)
            if direction == socket.PACKET_OUTGOING or kind not in (IPV4, IPV6):
                continue
            try:
                line = describe(kind, packet, addresses, ports)
            except (IndexError, struct.error):
                line = False, "unreadable %s" % packet.hex()
            if line:
                is_mark, text = line
                file = marks if is_mark else packets
                file.write(text.rstrip("\n") + "\n")
                file.flush()


def answer(server):
    """No name is known here."""
    while True:
        query, asker = server.recvfrom(4096)
        server.sendto(query[:2] + b"\x81\x83" + query[4:], asker)


def exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def relay(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def socks(client, users):
    try:
        _, count = exactly(client, 2)
        methods, user = exactly(client, count), "-"
        client.sendall(bytes([5, 2 if 2 in methods else 0]))
        if 2 in methods:
            _, size = exactly(client, 2)
            user = exactly(client, size).decode()
            exactly(client, exactly(client, 1)[0])
            client.sendall(b"\x01\x00")
        _, _, _, kind = exactly(client, 4)
        if kind == 3:
            host = exactly(client, exactly(client, 1)[0]).decode()
        else:
            host = str(ipaddress.ip_address(exactly(client, 4 if kind == 1 else 16)))
        port, = struct.unpack("!H", exactly(client, 2))
        with open(users, "a") as log:
            log.write("%s %s %d\n" % (user, host, port))
        try:
            # What only this proxy knows: services of hidden networks.
            known = "far.test" if host.rstrip(".").endswith((".onion", ".i2p")) else host
            server = socket.create_connection((known, port))
        except OSError:
            client.sendall(b"\x05\x04\x00\x01" + bytes(6))
            return
        client.sendall(b"\x05\x00\x00\x01" + bytes(6))
        threading.Thread(target=relay, args=(server, client), daemon=True).start()
        relay(client, server)
    except (EOFError, OSError):
        pass


def accept(server, serve, *arguments):
    while True:
        client, _ = server.accept()
        threading.Thread(target=serve, args=(client, *arguments), daemon=True).start()


def be_silent(client):
    while client.recv(65536):
        pass


def main():
    device, addresses, ports, directory = sys.argv[1:]
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    wire.bind((device, 3))
    addresses = addresses.split(",")
    threads = [(count, wire, addresses, {int(port) for port in ports.split(",")}, directory)]
    for host in addresses[0], "127.0.0.1":
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((host, 53))
        threads.append((answer, server))
    for port, *service in (1990, socks, directory + "/users"), (1999, be_silent):
        threads.append((accept, socket.create_server((addresses[0], port)), *service))
    for function, *arguments in threads[1:]:
        threading.Thread(target=function, args=arguments, daemon=True).start()
    function, *arguments = threads[0]
    function(*arguments)


main()
