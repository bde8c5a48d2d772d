#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds docs/examples/clients/smallweb_fsspec.py against fsspec's own tests, and against files.

usage: fsspec_reading.py, with these in the environment, as Tests/Examples/fsspec.sh has them:
ROOT, a directory; GEMINI, GOPHER and GIT, where servers show ROOT/gemini, ROOT/gopher and the
repository ROOT/git; LOOPBACK and CAPSULE, the servers of smallweb-loopback for gopher and Gemini;
ENDED, a file that smallweb's wrapper writes at its end.
"""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import unquote

import fsspec
import pytest
import smallweb_fsspec
from fsspec.tests.abstract import AbstractFixtures, AbstractGetTests, AbstractOpenTests

ROOT = Path(os.environ["ROOT"])
GEMINI, GOPHER, GIT = os.environ["GEMINI"], os.environ["GOPHER"], os.environ["GIT"] + "//"
LOOPBACK, CAPSULE = os.environ["LOOPBACK"], os.environ["CAPSULE"]
ENDED = Path(os.environ["ENDED"])
TABLE = b"place,rain\r\nhere,1\r\nthere,2\r\n"
# Neither UTF-8 nor small enough for a record, and with every line end.
BYTES = bytes(range(256)) * 1000 + b"\r\n.\r\n"
ODD = "a%20b/gr%C3%BCn%20%E2%98%83.txt"


class Served(smallweb_fsspec.SmallwebFileSystem):
    """Writes into what a server shows: fsspec's tests make their files by the same file system."""

    cachable = False
    protocol = "served"
    changed = True

    def local(self, url):
        # What asks for a local file of the repository is about to change it.
        self.changed = True
        start = next(place for place in (GEMINI, GIT) if url.startswith(place))
        return str(ROOT / {GEMINI: "gemini", GIT: "git"}[start] / unquote(url[len(start):]).strip("/"))

    def commit(self):
        self.changed = False
        for command in (["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "files"]):
            subprocess.run(["git", "-C", ROOT / "git", *command], check=True)

    def makedirs(self, path, exist_ok=True):
        os.makedirs(self.local(path), exist_ok=True)

    mkdir = makedirs

    def pipe_file(self, path, value, **_):
        self._open(path, "wb").write(value)

    def touch(self, path, **_):
        self.pipe_file(path, b"")

    def rm(self, path, recursive=False, **_):
        (shutil.rmtree if os.path.isdir(self.local(path)) else os.unlink)(self.local(path))

    def _open(self, path, mode="rb", **_):
        if mode == "rb":
            return super()._open(path)
        os.makedirs(os.path.dirname(self.local(path)), exist_ok=True)
        return open(self.local(path), mode, buffering=0)

    def _page(self, url):
        if self.changed and url.startswith(GIT):
            self.commit()
        return super()._page(url)


class Reading(AbstractFixtures, AbstractGetTests, AbstractOpenTests):
    place = None

    @pytest.fixture
    def fs(self):
        return Served()

    @pytest.fixture
    def fs_path(self, fs):
        fs.makedirs(self.place + "made")
        yield self.place + "made"
        fs.rm(self.place + "made")

    @pytest.fixture
    def supports_empty_directories(self):
        return self.place == GEMINI


class TestGemini(Reading):
    place = GEMINI


class TestGit(Reading):
    place = GIT


@pytest.fixture(scope="module", autouse=True)
def files():
    contents = {"table.csv": TABLE, "deep/bytes.bin": BYTES, unquote(ODD): b"odd\n"}
    for name in ("gemini", "gopher", "git"):
        for file, content in contents.items():
            path = ROOT / name / "data" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    Served().commit()


@pytest.fixture
def fs():
    return fsspec.filesystem("gemini")


# A URL of Gopher has the type of what it leads to.
FILES = {"gemini": GEMINI, "gopher": GOPHER + "9/", "git": GIT}
DIRECTORIES = {"gemini": GEMINI, "gopher": GOPHER + "1/", "git": GIT}
SCHEMES = pytest.mark.parametrize("scheme", FILES)


@SCHEMES
def test_a_file_is_read_byte_for_byte(fs, scheme):
    assert fs.cat(FILES[scheme] + "data/deep/bytes.bin") == BYTES
    assert not os.listdir(smallweb_fsspec.FILES.name)
    with fsspec.open(FILES[scheme] + "data/table.csv") as file:
        assert file.read() == TABLE


def test_a_text_keeps_its_charset(fs):
    assert fs.cat(CAPSULE + "latin1") == "naïve".encode("latin1")


@SCHEMES
def test_what_is_known_of_a_file(fs, scheme):
    url = FILES[scheme] + "data/deep/bytes.bin"
    info = fs.info(url)
    assert (info["name"], info["size"], info["type"]) == (url, len(BYTES), "file")
    assert fs.isfile(url) and not fs.isdir(url) and fs.ls(url, detail=False) == [url]


@SCHEMES
def test_a_directory_is_listed(fs, scheme):
    url = DIRECTORIES[scheme] + "data"
    names = fs.ls(url, detail=False)
    assert sorted(name.rstrip("/").rsplit("/", 1)[1] for name in names) == ["a%20b", "deep", "table.csv"]
    kinds = {entry["name"].rstrip("/").rsplit("/", 1)[1]: entry["type"] for entry in fs.ls(url)}
    assert kinds == {"a%20b": "directory", "deep": "directory", "table.csv": "file"}
    assert fs.isdir(url)


@SCHEMES
def test_files_are_found_by_patterns(fs, scheme):
    url = DIRECTORIES[scheme] + "data/"
    tables, = fs.glob(url + "*.csv")
    assert fs.cat(tables) == TABLE
    deep, = fs.glob(url + "**/*.bin")
    assert fs.cat(deep) == BYTES
    assert fs.glob(url + "*.none") == []
    found = fs.find(DIRECTORIES[scheme] + "data")
    assert sorted(name.partition("/data/")[2] for name in found) == [ODD, "deep/bytes.bin", "table.csv"]
    assert [name.rsplit("/", 1)[1] for name in fs.find(url.rstrip("/"), maxdepth=1)] == ["table.csv"]


@SCHEMES
def test_a_name_with_blanks_and_umlauts(fs, scheme):
    name, = fs.glob(DIRECTORIES[scheme] + "data/a%20b/*.txt")
    assert name.endswith(ODD) and fs.cat(name).rstrip() == b"odd"


def test_parts_of_a_file(fs):
    url = GEMINI + "data/deep/bytes.bin"
    assert fs.cat_file(url, 300, 310) == BYTES[300:310]
    assert fs.cat_file(url, -5) == BYTES[-5:] and fs.cat_file(url, end=-5) == BYTES[:-5]
    assert fs.cat_ranges([url, url], [0, 256], [2, 259]) == [b"\0\1", b"\0\1\2"]
    with fs.open(url) as file:
        assert file.seek(65) == 65 and file.read(3) == b"ABC" and file.tell() == 68
        assert file.seek(-5, 2) == len(BYTES) - 5 and file.read() == BYTES[-5:]


@SCHEMES
def test_what_readers_in_blocks_ask_for(fs, scheme):
    url = FILES[scheme] + "data/table.csv"
    assert fs.size(url) == fs.sizes([url])[0] == len(TABLE)
    with fs.open(url) as file:
        assert file.size == len(TABLE)
    assert fs.read_block(url, 0, 5) == TABLE[:5] and fs.read_block(url, 7, None) == TABLE[7:]
    assert fs.read_block(url, 3, 12, b"\n") == TABLE[12:20] and fs.read_block(url, 90, 5) == b""
    assert fs.tail(url, 4) == TABLE[-4:] and fs.head(url, 4) == TABLE[:4]
    # What is kept of an earlier reading is older, so that nobody takes it for the page.
    first = fs.modified(url)
    assert first.tzinfo and first < fs.modified(url)


def test_duckdb_reads_by_it(fs, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    sql = duckdb.connect()
    sql.sql(f"copy (select i from range(5000) t(i)) to '{tmp_path}/p.parquet'")
    shutil.copy(tmp_path / "p.parquet", ROOT / "gemini/data/p.parquet")
    sql.register_filesystem(fs)
    for query, count in (
        (f"read_csv('{GEMINI}data/table.csv')", 2), (f"read_parquet('{GEMINI}data/p.parquet')", 5000),
        (f"read_parquet(['{GEMINI}data/p.parquet', '{GEMINI}data/p.parquet'])", 10_000),
    ):
        assert sql.sql(f"select count(*) from {query}").fetchall() == [(count,)], query
    # It changes, and is read anew.
    sql.sql(f"copy (select i from range(9) t(i)) to '{tmp_path}/q.parquet'")
    shutil.copy(tmp_path / "q.parquet", ROOT / "gemini/data/p.parquet")
    assert sql.sql(f"select count(*) from read_parquet('{GEMINI}data/p.parquet')").fetchall() == [(9,)]


def test_a_text_is_read_as_lines(fs):
    with fsspec.open(GEMINI + "data/table.csv", "rt", newline=None) as file:
        assert file.read().splitlines() == ["place,rain", "here,1", "there,2"]


@SCHEMES
def test_a_file_that_is_not_there(fs, scheme):
    url = DIRECTORIES[scheme] + "data/none"
    with pytest.raises(FileNotFoundError) as caught:
        fs.cat(url)
    assert caught.value.filename == url
    assert not fs.exists(url) and fs.glob(url) == [] and fs.exists(DIRECTORIES[scheme] + "data")


def test_a_server_that_is_not_there(fs):
    url = "gopher://127.0.0.1:1/0/a"
    with pytest.raises(OSError, match="connect: cannot connect") as caught:
        fs.cat(url)
    assert not isinstance(caught.value, FileNotFoundError)
    for unknown in (fs.exists, fs.find):  # It is not known whether there is a file.
        with pytest.raises(OSError, match="cannot connect"):
            unknown(url)


def test_a_version_of_a_repository(fs):
    Served().commit()
    subprocess.run(["git", "-C", ROOT / "git", "tag", "old"], check=True)
    (ROOT / "git/data/table.csv").write_bytes(b"new\n")
    Served().commit()
    url = GIT + "data/table.csv"
    assert (fs.cat(url), fs.cat(url + "?ref=old")) == (b"new\n", TABLE)
    assert fs.glob(GIT + "data/*.csv?ref=old") == [url + "?ref=old"]
    assert fs.ls(GIT + "data?ref=refs/tags/old", detail=False)[2] == url + "?ref=refs/tags/old"
    assert len(fs.find(GIT + "?ref=refs/tags/old")) == 3


def test_menus_that_lead_to_each_other(fs):
    # One of its links is the menu itself, others are a search and another host's.
    found = fs.find(LOOPBACK)
    assert LOOPBACK + "0/about.txt" in found
    assert not any("search" in name or "example" in name for name in found)


def test_nothing_is_written(fs):
    with pytest.raises(OSError, match="read-only"):
        fs.open(GEMINI + "new", "wb")


def test_threads_share_a_process():
    urls = [LOOPBACK + f"9/big/{size}" for size in range(1, 200)]
    sizes, before = [], len(smallweb_fsspec.SmallwebFileSystem._running)

    def read(part):
        fs = fsspec.filesystem("gopher")
        sizes.extend((len(fs.cat(url)), url) for url in part)

    threads = [threading.Thread(target=read, args=(urls[start::8],)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sizes) == [(size, LOOPBACK + f"9/big/{size}") for size in range(1, 200)]
    assert len(smallweb_fsspec.SmallwebFileSystem._running) == before == 1


def test_options_are_those_of_smallweb():
    fs = fsspec.filesystem("gopher", options=["--max-filesize", "1K"])
    with pytest.raises(OSError, match="too-large"):
        fs.cat(LOOPBACK + "9/big/2000")
    assert len(fsspec.filesystem("gopher").cat(LOOPBACK + "9/big/2000")) == 2000


def test_another_process_when_one_has_ended(fs):
    assert fs.exists(GEMINI)
    for web in smallweb_fsspec.SmallwebFileSystem._running.values():
        web.close()
    assert fs.cat(GEMINI + "data/table.csv") == TABLE


def program(text, directory, **environment):
    """Its status, what it printed, and its errors, which do not wait for smallweb."""
    with open(directory / "errors", "w") as errors:
        one = subprocess.run([sys.executable, "-c", "import fsspec, smallweb_fsspec\n" + text], text=True,
                             env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=errors)
    return one.returncode, one.stdout, (directory / "errors").read_text()


def test_the_process_ends_with_the_program(tmp_path):
    ENDED.unlink(missing_ok=True)
    (tmp_path / "files").mkdir()
    url = GEMINI + "data/deep/bytes.bin"
    text = f"print(len(fsspec.open('{url}').open().read()))"
    ended = program(text, tmp_path, TMPDIR=str(tmp_path / "files"), LATE="1")
    assert ended == (0, f"{len(BYTES)}\n", "")
    assert ENDED.read_text() == "0\n" and not list((tmp_path / "files").iterdir())


def test_there_is_no_smallweb(tmp_path):
    text = f"fsspec.filesystem('gemini').exists('{GEMINI}')"
    status, _, errors = program(text, tmp_path, PATH=str(tmp_path))
    assert status == 1 and errors.splitlines()[-1].startswith("RuntimeError: ") and "'smallweb'" in errors


def test_a_menu_may_lead_several_levels_down_at_once():
    fs = fsspec.filesystem("gemini")
    page = "=> a/x.csv\n=> b/x.csv\n=> b/c/\n=> /elsewhere\n=> gemini://example.org/flat/z\n"
    for name, text in (("index.gmi", page), ("a/x.csv", "a"), ("b/x.csv", "b"), ("b/c/y", "y")):
        (ROOT / "gemini/flat" / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / "gemini/flat" / name).write_text(text)
    flat = GEMINI + "flat/"
    assert fs.find(flat) == [flat + name for name in ("a/x.csv", "b/c/y", "b/x.csv")]
    assert fs.find(flat, maxdepth=2, withdirs=True) \
        == [flat] + [flat + name for name in ("a/x.csv", "b/c/", "b/x.csv")]
    assert fs.glob(flat + "*/x.csv") == [flat + "a/x.csv", flat + "b/x.csv"]
    assert fs.glob(flat + "*") == fs.find(flat, maxdepth=1) == []


class Lines:
    """A line for each test, as checks.sh writes them."""

    def pytest_collection_modifyitems(self, items):
        # The question mark begins a query in a URL.
        items[:] = [item for item in items if "fil?1" not in item.name]

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.partition("::")[2].replace("::", ", ").replace("_", " ")
        if report.failed:
            print(f"not ok - fsspec: {name} ({report.when})")
            print("   ", report.longreprtext.replace("\n", "\n    "))
        elif report.when == "call":
            print(f"{'skipped' if report.skipped else 'ok'} - fsspec: {name}")


if __name__ == "__main__":
    sys.exit(pytest.main(["-p", "no:terminal", "-p", "no:cacheprovider", __file__, *sys.argv[1:]], [Lines()]))
