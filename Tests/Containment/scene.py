# SPDX-License-Identifier: MIT
"""What an attacking plugin finds around it, and what has become of it afterwards."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time

FIRST_SIGNAL = 40
SIGNALS = ["kill", "tkill", "tgkill", "queue", "queue-thread", "pidfd", "kill-group", "setown",
           "setown-ex", "fiosetown", "siocspgrp"]
IPCRM = {"shm": "shmem", "sem": "semaphore", "msg": "queue"}
MEMORY_BYTES = 64 << 20
PLACES = ["home", "data", "other", "folder", "reads"]


class Scene:
    """A user with a home directory, stores elsewhere, other processes, and the plugin."""

    def __init__(self, top, attack, user, secret, prefix):
        self.top, self.user, self.secret, self.prefix = pathlib.Path(top), user, secret, prefix
        self.comm = f"attack-{os.getpid() % 10**7}"
        self.home, self.data = self.top / "home", self.top / "data"
        self.folder, self.tmp = self.top / "plugins/attack", self.top / "tmp"
        self.places = {
            "home": self.home / "files", "data": self.data / "smallweb/files",
            "other": self.top / "other", "folder": self.folder / "files",
            "reads": self.top / "readable"}
        others = [self.tmp, self.top / "keys", self.top / "config/smallweb"]
        self.opens, self.reads_more = [], []
        for path in [*self.places.values(), *others]:
            path.mkdir(parents=True)
        self.known_hosts = self.write("keys/known_hosts", f"# {secret}\n")
        self.identity = self.write("keys/identity.pem", f"{secret}\n")
        self.config = self.write("config/smallweb/config", f"# {secret}\n")
        self.make_readable()
        shutil.copy(attack, self.folder / self.comm)
        self.write_manifest(MEMORY_BYTES)
        names = subprocess.run([attack, "list"], capture_output=True, text=True, check=True)
        self.attempts = names.stdout.split()
        for name in self.attempts:
            if "@" in name:
                self.make_targets(*name.split("@"))
        for directory, _, files in os.walk(self.top):
            for path in [directory, *(os.path.join(directory, file) for file in files)]:
                os.chown(path, user, user, follow_symlinks=False)
        self.key = 0x5B000000 + os.getpid() % 0xFFFFFF
        self.queue = f"smallweb-attack-{os.getpid()}"
        self.abstract = f"{self.top}/abstract"

    def make_readable(self):
        """What the manifest names in `reads`, with links out of it, and what lies beside it."""
        readable = self.places["reads"]
        for name in ["beside/inner", "readable-longer", "lists", "swapped/inner"]:
            (self.top / name).mkdir(parents=True)
        self.beside = self.write("beside/file", f"{self.secret}\n")
        self.longer = self.write("readable-longer/file", f"{self.secret}\n")
        self.list = self.write("lists/one", "inside\n")
        self.list_beside = self.write("lists/beside", f"{self.secret}\n")
        # Whose names say it.
        for place in [".", "lists"]:
            self.write(f"{place}/name-{self.secret}", "")
        self.write("readable/inside", "inside\n")
        self.swapped = self.write("swapped/inner/file", "inside\n")
        self.write("beside/inner/file", f"{self.secret}\n")
        for name, target in [("link-out", "../beside/file"), ("link-up", ".."), ("link-root", "/")]:
            os.symlink(target, readable / name)
        os.mkfifo(readable / "pipe", 0o600)

    def write_manifest(self, memory_bytes):
        path = self.folder / "plugin.json"
        path.write_text(json.dumps({
            "v": 1, "name": "attack", "program": [f"./{self.comm}"],
            "schemes": [{"name": "attack", "port": 0, "transport": "none", "upload": True,
                         "mime": "application/octet-stream"},
                        {"name": "attacks", "port": 7, "transport": "tcp", "mime": "text/plain"}],
            "connections": ["tcp", "udp", "tcp"], "answers": True, "opens": self.opens,
            "reads": [str(path) for path in [self.places["reads"], self.list, self.swapped.parent,
                                             *self.reads_more]],
            "limits": {"memory_bytes": memory_bytes}}))
        path.chmod(0o644)

    def write(self, name, text):
        path = self.top / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def make_targets(self, name, place):
        start = str(self.places[place] / name.replace("/", "."))
        file = pathlib.Path(start + ".file")
        file.write_text(f"{self.secret} {name}\n")
        file.chmod(0o600)
        os.mkdir(start + ".dir", 0o700)
        os.symlink(file.name, start + ".link")
        with contextlib.suppress(OSError):
            os.setxattr(file, "user.mine", b"mine")

    def outside(self, *words):
        """Runs the program as the user, contained by nothing."""
        return subprocess.run([*self.prefix, self.folder / self.comm, *map(str, words)],
                              capture_output=True, text=True)

    # MARK: Other processes, objects and sockets

    def open(self):
        self.victim = subprocess.Popen(
            [*self.prefix, self.folder / self.comm, "victim", self.secret],
            stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.address = self.victim.stdout.readline().strip()
        made = self.outside("make", self.key, self.queue)
        if made.returncode:
            raise SystemExit(f"run.py: cannot make objects of IPC: {made.stdout}{made.stderr}")
        self.objects = made.stdout
        self.objects_before = self.own_objects()
        self.arrived = set()
        self.listeners = []
        # Where the program can see them, too.
        self.sockets = self.places["reads"]
        for path, kind in [(f"{self.sockets}/socket", socket.SOCK_DGRAM),
                           (f"\0{self.abstract}", socket.SOCK_DGRAM),
                           (f"{self.sockets}/stream", socket.SOCK_STREAM)]:
            listener = socket.socket(socket.AF_UNIX, kind)
            listener.bind(path)
            if path[0] == "/":
                os.chown(path, self.user, self.user)
            if kind == socket.SOCK_STREAM:
                listener.listen()
            self.listeners.append(listener)
            threading.Thread(target=self.listen, args=[listener, kind], daemon=True).start()
        self.forbidden = socket.create_server(("127.0.0.1", 0))
        self.pipe = os.open(self.places["reads"] / "pipe", os.O_RDWR | os.O_NONBLOCK)

    def take_from_pipe(self):
        """The attempts that have written to the pipe in what may be read."""
        with contextlib.suppress(BlockingIOError):
            return {os.read(self.pipe, 100).decode()}
        return set()

    def listen(self, listener, kind):
        while True:
            try:
                if kind == socket.SOCK_STREAM:
                    listener.accept()[0].close()
                    self.arrived.add("sockets/connect-stream")
                else:
                    self.arrived.add(listener.recv(100).decode())
            except OSError:
                return

    def close(self):
        self.victim.kill()
        self.victim.wait()
        self.outside("remove", self.key, self.queue)
        # What the program has left, where it could make some.
        for kind, number in self.own_objects() - self.objects_before:
            subprocess.run([*self.prefix, "ipcrm", f"--{kind}-id", number],
                           stderr=subprocess.DEVNULL)
        for listener in self.listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.forbidden.close()
        os.close(self.pipe)

    def targets(self, smallweb, **more):
        """What the program is told, for the process that becomes smallweb to write."""
        facts = {**{name: str(path) for name, path in self.places.items()},
                 "known_hosts": self.known_hosts, "identity": self.identity,
                 "config": self.config, "smallweb": smallweb, "victim": self.victim.pid,
                 "address": int(self.address), "key": self.key, "queue": self.queue,
                 "socket": f"{self.sockets}/socket", "stream": f"{self.sockets}/stream",
                 "abstract": self.abstract, "beside": self.beside, "longer": self.longer,
                 "list": self.list, "list_beside": self.list_beside, "swapped": self.swapped,
                 "forbidden": self.forbidden.getsockname()[1], **more}
        text = "".join(f"{name}={value}\n" for name, value in facts.items()) + self.objects
        path = self.folder / "targets"
        path.write_text(text)
        path.chmod(0o644)

    # MARK: What has become of them

    def files(self):
        """All that is known of each file but when it was read."""
        found = {}
        for place, top in self.places.items():
            for directory, directories, files in os.walk(top):
                for name in directories + files:
                    path = os.path.join(directory, name)
                    # That it was written to is said by what has come out of it.
                    if name == "pipe":
                        continue
                    found[place, os.path.relpath(path, top)] = self.facts(path)
        for path in [self.home, self.data, self.folder, self.known_hosts, self.identity,
                     self.config, *self.places.values()]:
            at = os.lstat(path)
            found["", str(path)] = (at.st_mode, at.st_uid, at.st_gid, tuple(os.listxattr(path)))
        return found

    @staticmethod
    def facts(path):
        at = os.lstat(path)
        links = dict(follow_symlinks=False)
        content = os.readlink(path) if os.path.islink(path) else ""
        if os.path.isfile(path) and not content:
            with open(path, "rb") as file:
                content = hashlib.sha256(file.read()).hexdigest()
        attributes = tuple((name, os.getxattr(path, name, **links))
                           for name in os.listxattr(path, **links))
        return (at.st_ino, at.st_mode, at.st_uid, at.st_gid, at.st_nlink, at.st_size,
                at.st_mtime_ns, at.st_ctime_ns, content, attributes)

    def changed(self, before):
        """The attempts whose targets are not as they were, and what else has changed."""
        after = self.files()
        names = set()
        for place, path in set(before) | set(after):
            if before.get((place, path)) == after.get((place, path)):
                continue
            parts = path.split("/")[0].split(".")
            names.add(f"{parts[0]}/{parts[1]}@{place}" if place and len(parts) > 1
                      else f"{path} was changed")
        return names

    def state_of_victim(self):
        """Priority, processors, policy, limits and the like, and signals that wait for it."""
        pid = self.victim.pid
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        state = {"group": fields[2], "session": fields[3], "priority": fields[15],
                 "nice": fields[16], "policy": fields[38],
                 "affinity": str(os.sched_getaffinity(pid))}
        for name in ["limits", "oom_score_adj", "coredump_filter", "timerslack_ns"]:
            with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}") as file:
                state[name] = file.read()
        return state

    def signals(self):
        """The attempts whose signals have arrived at the victim."""
        waiting = 0
        with open(f"/proc/{self.victim.pid}/status") as file:
            for line in file:
                if line.startswith(("SigPnd:", "ShdPnd:")):
                    waiting |= int(line.split()[1], 16)
        return {f"signals/{name}" for index, name in enumerate(SIGNALS)
                if waiting >> (FIRST_SIGNAL + index - 1) & 1}

    def look(self):
        return self.outside("look", self.key, self.queue).stdout

    def own_objects(self):
        """The user's objects of System V IPC, of all processes."""
        found = set()
        for kind in ["shm", "sem", "msg"]:
            with open(f"/proc/sysvipc/{kind}") as file:
                heads = next(file).split()
                for line in file:
                    fields = dict(zip(heads, line.split()))
                    number = fields["msqid" if kind == "msg" else f"{kind}id"]
                    if fields["uid"] == str(self.user):
                        found.add((IPCRM[kind], number))
        return found


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()
