#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""smallweb as a co-process: one process that fetches whatever a program asks for while it runs.

usage: client.py URL…
"""

import base64
import itertools
import json
import queue
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import Future


class Smallweb:
    """A running `smallweb get --json -`, for any number of threads.

    with Smallweb("-j", "8") as web:
        pages = [web.fetch(url) for url in urls]
        print([page.result()["outcome"] for page in pages])
    """

    def __init__(self, *options):
        # -s: failures are in the records. A pipe for stderr would have to be read as well.
        self._process = subprocess.Popen(
            ["smallweb", "get", "--json", "-s", *options, "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._lock = threading.Lock()
        self._ids = itertools.count()
        self._pending = {}
        self._end = None
        # Reading and writing must not wait for each other: smallweb reads its next request when
        # there is room for the reply, so a program that only writes fills both pipes and hangs.
        self._lines = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._write), threading.Thread(target=self._read)]
        for thread in self._threads:
            thread.daemon = True
            thread.start()

    def fetch(self, url, **members):
        """Ask for a URL; `members` go into the request, as data="words" or max_time=10.

        Returns at once a Future of the record, of type `response` or `error`; its `before` has those
        that belong to it, such as links. It raises RuntimeError when smallweb ends before the reply.
        """
        future = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            if self._end:
                raise RuntimeError(self._end)
            number = next(self._ids)
            self._pending[number] = future
        self._lines.put(json.dumps({**members, "url": url, "id": number}).encode() + b"\n")
        return future

    def close(self):
        """Wait for the replies that are still to come, and for the end of the process."""
        self._lines.put(None)
        for thread in self._threads:
            thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _write(self):
        try:
            with self._process.stdin as pipe:
                while line := self._lines.get():
                    pipe.write(line)
                    pipe.flush()
        except BrokenPipeError:
            pass  # It has ended: the reader says how.

    def _read(self):
        before = []
        try:
            for line in self._process.stdout:
                record = json.loads(line)
                # Links of a page come before it, with no other between.
                if record["type"] in ("response", "error"):
                    record["before"], before = before, []
                    with self._lock:
                        future = self._pending.pop(record["id"], None)
                    if future:
                        future.set_result(record)
                else:
                    before.append(record)
        except ValueError:
            pass  # It was killed in the middle of a line.
        self._process.stdout.close()
        # The exit status of a run is that of its first failing URL, so it is an error only if
        # something is still pending.
        end = f"smallweb ended with status {self._process.wait()}"
        with self._lock:
            self._end = end
            pending, self._pending = self._pending, {}
        for future in pending.values():
            future.set_exception(RuntimeError(end))
        self._lines.put(None)


def body(record):
    """The body of a record as bytes, whatever form it has; None without one."""
    form = record.get("body") or {}
    if "text" in form:
        return form["text"].encode()
    if "base64" in form:
        return base64.b64decode(form["base64"])
    if "path" in form:
        with open(form["path"], "rb") as file:
            return file.read()
    return None


def main(urls):
    with tempfile.TemporaryDirectory() as directory:
        # Bodies beyond 64 KiB go into files.
        options = ["-j", "8", "--inline-max", "64K", "--output-dir", directory]
        with Smallweb(*options) as web:
            for future in [web.fetch(url) for url in urls]:
                record = future.result()
                content = body(record)
                size = "-" if content is None else len(content)
                print(record["outcome"], size, record["url"], sep="\t")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, RuntimeError) as error:
        sys.exit(f"client.py: {error}")
