# SPDX-License-Identifier: MIT
"""Pages of the small web as files: a read-only file system for fsspec. It needs client.py beside it.

    import fsspec, pandas, smallweb_fsspec
    pandas.read_csv("gemini://example.org/data/rain.csv")  # pandas asks urllib for gopher: and git:
    pandas.read_csv(fsspec.open("git://example.org/repo.git//rain.csv?ref=v1").open())
    fs = fsspec.filesystem("gemini", options=["--max-time", "30"])  # of `smallweb get`
    fs.ls("gemini://example.org/log/"), fs.glob("gopher://example.org/1/data/*.csv")
    duckdb.register_filesystem(fs)

Names are whole URLs, so `?` begins a query and is no wildcard. Directories are menus of Gopher, those of
Git, and pages with links whose URLs end with a slash; in them are the links that lead below them, whatever
type a Gopher URL begins with. Nothing is kept: see `simplecache::`. It replaces fsspec's own scheme git.
"""

import atexit
import datetime
import errno
import io
import os
import re
import tempfile
import threading

import client
import fsspec
from fsspec.utils import glob_translate, stringify_path

NOT_FOUND = (None, 4, 51, 52, 404, 410)  # Statuses of refusals, in any protocol.
FILES = tempfile.TemporaryDirectory(prefix="smallweb-")  # Bodies beyond 64 KiB, until they are read.
OPTIONS = ["--with-links", "-j", "8", "--inline-max", "64K", "--output-dir", FILES.name]
# A URL with a wildcard behind its host, which may have brackets; the group is the directory to look in.
PATTERN = re.compile(r"([^:]*://[^/]*/(?:[^?*[]*/)?)[^/?*[]*[*[]")


def place(url):
    """Where a URL lies among others: without query, type of Gopher, and slashes that say nothing."""
    url = re.sub("^(gophers?://[^/]*/)[^/*[]", r"\1", url.partition("?")[0])
    return re.sub("(?<!:)/+", "/", url).rstrip("/")


def ends_with_slash(url):
    return re.fullmatch("[^:]*://([^/]*|.*/)", url.partition("?")[0])


class Body(io.BytesIO):
    """A page as a file, with the size that read_block() and tail() of fsspec ask for."""

    @property
    def size(self):
        return self.getbuffer().nbytes


class SmallwebFileSystem(fsspec.AbstractFileSystem):
    protocol = ("gemini", "gopher", "gophers", "git", "git+http", "git+https", "finger", "nex", "spartan")
    _running, _starting = {}, threading.Lock()

    @classmethod
    def _strip_protocol(cls, path):
        return [stringify_path(one) for one in path] if isinstance(path, list) else stringify_path(path)

    def _fetch(self, url):
        url.encode()  # What is not text would get no reply.
        # A child of fork has none of its parent's threads.
        key = os.getpid(), *self.storage_options.get("options", ())
        with self._starting:
            try:
                future = self._running[key].fetch(url, body="base64")
            except (KeyError, RuntimeError):  # There is no process yet, or it has ended.
                try:
                    web = self._running[key] = client.Smallweb(*OPTIONS, *key[1:])
                except FileNotFoundError as error:  # It is not the page that is missing.
                    raise RuntimeError(str(error)) from error
                atexit.register(web.close)
                future = web.fetch(url, body="base64")
        return future.result()

    def _page(self, url):
        """What fsspec wants to know of a page, its body, and the same of pages below it."""
        record = self._fetch(url)
        if not record["ok"]:
            if record["outcome"] == "permanent-failure" and record["status"] in NOT_FOUND:
                raise FileNotFoundError(errno.ENOENT, record["error"]["message"], url)
            raise OSError(f"{url}: {record['outcome']}: {record['error']['message']}")
        body, form = client.body(record) or b"", record["body"] or {}
        if "path" in form:
            os.unlink(form["path"])
        final, mime = record["final_url"], record["mime"]
        is_menu = record["scheme"].startswith("git") or mime == "application/gopher-menu"
        has_links = "no-links" not in [warning["code"] for warning in record["warnings"]]
        kind = "directory" if has_links and (is_menu or ends_with_slash(final)) else "file"
        page = {"name": url, "size": len(body), "type": kind, "depth": 0, "mimetype": mime,
                "sha256": form.get("sha256")}
        entries = {} if kind == "directory" else {url: page}
        for link in record["before"] if kind == "directory" else ():
            name = (link.get("url") or "").partition("#")[0]
            if place(name).startswith(place(final) + "/") and link["kind"] not in ("search", "input"):
                kind = "directory" if link["kind"] == "menu" or ends_with_slash(name) else "file"
                depth = place(name).count("/") - place(final).count("/")
                entries[name] = {"name": name, "size": None, "type": kind, "depth": depth}
        return page, body, list(entries.values())

    def info(self, path, **_):
        return self._page(self._strip_protocol(path))[0]

    def exists(self, path, **_):
        return bool(self.find(path, maxdepth=1, withdirs=True))

    def ls(self, path, detail=True, **_):
        entries = self._page(self._strip_protocol(path))[2]
        return entries if detail else [entry["name"] for entry in entries]

    def find(self, path, maxdepth=None, withdirs=False, detail=False, **_):
        # Links may lead down several levels at once, where fsspec's own would take a/x for b/x.
        found, waiting = {}, [(self._strip_protocol(path), 0)]
        for url, depth in waiting:
            try:
                page, _, entries = self._page(url)
            except OSError as error:
                if not depth and not isinstance(error, FileNotFoundError):
                    raise
                continue
            found.setdefault(url, page)
            for entry in entries:
                level = depth + entry["depth"]
                if entry["name"] not in found and (maxdepth is None or level <= maxdepth):
                    found[entry["name"]] = entry
                    if entry["type"] == "directory" and level != maxdepth:
                        waiting.append((entry["name"], level))
        names = [name for name in sorted(found) if withdirs or found[name]["type"] == "file"]
        return {name: found[name] for name in names} if detail else names

    def glob(self, path, maxdepth=None, detail=False, **_):
        path, _, query = self._strip_protocol(path).partition("?")
        query, slash = query and "?" + query, path.endswith("/")
        if match := PATTERN.match(path):
            base = match[1].rstrip("/") if path.startswith("gopher") else match[1]
            start, double, end = path.rstrip("/")[len(match[1]):].partition("**")
            depth = (maxdepth and maxdepth + start.count("/")) if double else start.count("/") + 1
            pattern, slash = glob_translate(place(path) + "/" * slash), slash or (double and not end)
            found = self.find(base + query, depth, withdirs=True, detail=True)
            found = {name: one for name, one in found.items() if re.match(
                pattern, place(name) + ("/" if slash and one["type"] == "directory" else ""))}
        else:
            found = self.find(path + query, 1, withdirs=True, detail=True)
            found = {name: one for name, one in found.items() if name == path + query}
        return found if detail else list(found)

    def modified(self, path):
        # No server says when. So that no reader takes what it has kept for the page, it is now.
        return datetime.datetime.now(datetime.timezone.utc)

    def cat_file(self, path, start=None, end=None, **_):
        return self._page(self._strip_protocol(path))[1][start:end]

    def _open(self, path, mode="rb", **_):
        if mode != "rb":
            raise OSError(errno.EROFS, "the small web is read-only here", path)
        return Body(self.cat_file(path))


for scheme in SmallwebFileSystem.protocol:
    fsspec.register_implementation(scheme, SmallwebFileSystem, clobber=True)
