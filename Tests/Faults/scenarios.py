# SPDX-License-Identifier: MIT
"""What is run for `make faults`, and what must be true afterwards, whatever failed: the oracle."""

import hashlib
import json
import os
import re
import ssl

PIN = "sha256:" + "ab" * 32

KNOWN_HOSTS = (
    "# smallweb known_hosts 1\n"
    "# a comment, and a line of a kind from the future\n"
    f"example.org:1965 k {PIN} expires=9999999999 first=1700000000 last=1700000000 n=3\n"
    "example.net:1965 z whatever this is\n"
    f"example.com:1965 c {PIN} expires=9999999999 first=1700000000\n").encode()
BOOKMARKS = (
    "# mine\n"
    "gemini://example.org/\tAn example\n"
    "gopher://example.org/1/a%20b\tGrüße\n"
    "finger://example.org/ada\n").encode()
BINDINGS = (
    b"# who is who\n"
    b"alice gemini://example.org:1965/app\n"
    b"bob gemini://example.net:1965/notes\n")
LEDGER = (
    '{"type":"response","v":1,"n":0,"ok":true,"exit":0,"outcome":"ok",'
    '"url":"gemini://example.org/"}\n'
    '{"type":"error","v":1,"n":1,"ok":false,"exit":28,"outcome":"timeout",'
    '"url":"gopher://example.org/0/a"}\n').encode()
HISTORY = b"1700000000\tgemini://example.org/\n1700000001\tgopher://example.org/1/a\n"
OLD = b"what was there before\n"

STORE = "data/smallweb/known_hosts"
MARKS = "config/smallweb/bookmarks"
IDENTITIES = "data/smallweb/identities"
BOUND = IDENTITIES + "/bindings"
PAST = "state/smallweb/history"


class Scenario:
    """One command line in a home of its own.

    - files: what is there before, path to bytes; private (0600), but outputs (`out/…`) 0640.
    - arguments: after `smallweb`; `{}` is the directory of the case.
    - check: a function of the case that returns sentences about what is wrong.
    - creates: regular expressions of the paths that may be there afterwards besides.
    """

    def __init__(self, name, arguments, check, files=None, creates=(), libraries=False):
        self.name, self.arguments, self.check = name, arguments, check
        self.files, self.creates = files or {}, list(creates)
        # Whether the calls that load shared libraries are failed, too: once is enough.
        self.libraries = libraries

    def prepare(self, directory):
        for name in ["home", "config", "data", "state", "cache", "out"]:
            os.makedirs(f"{directory}/{name}")
        for name, content in self.files.items():
            path = f"{directory}/{name}"
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, 0o640 if name.startswith("out/") else 0o600)

    def leftovers(self, directory):
        """Files that are neither the scenario's nor its result."""
        for place, _, names in os.walk(directory):
            for name in names:
                path = os.path.relpath(os.path.join(place, name), directory)
                if path not in self.files and not any(
                        re.fullmatch(pattern, path) for pattern in self.creates):
                    yield path


def content(case, name):
    try:
        with open(f"{case.directory}/{name}", "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def output(name, body, old=None):
    """`-o`: the old file or the whole new one, and the new one after status 0."""
    def check(case):
        found = content(case, name)
        if found != body and case.status == 0:
            yield f"status 0, but {name} is not what was served"
        if found not in (old, body):
            size = "gone" if found is None else f"{len(found)} bytes"
            yield f"{name} is neither the old file nor the whole new one: {size}"
    return check


def resumed(name, body, old):
    """`-C -`: after a failure there may be more of it, but nothing else."""
    def check(case):
        found = content(case, name) or b""
        if not body.startswith(found) or len(found) < len(old):
            yield f"{name} is no beginning of what is served: {len(found)} bytes"
        if case.status == 0 and found != body:
            yield f"status 0, but {name} has {len(found)} bytes of {len(body)}"
    return check


def printed(body, next_body=b""):
    """A body on standard output, and another one behind it: whole after status 0, never anything
    but the beginning of each."""
    def check(case):
        whole = body + next_body
        if case.status == 0 and case.out != whole:
            yield f"status 0, but standard output has {len(case.out)} bytes of {len(whole)}"
        start = len(os.path.commonprefix([body, case.out]))
        if not any(next_body[:64].startswith(case.out[end:end + 64])
                   and next_body.startswith(case.out[end:]) for end in range(start, -1, -1)):
            yield "standard output has something else than the body"
    return check


def records(bodies):
    """`--json`: one terminal record per URL; all ok after status 0, with the right bodies.

    None at all when the run cannot begin: then the message is about no URL.
    """
    def check(case):
        if case.status != 0 and not case.out and b"://" not in case.err:
            return
        # What cannot be written to standard output cannot be there.
        excused = "write" in case.injected and "/stdout>" in case.injected
        *lines, rest = case.out.split(b"\n")
        if rest and not excused:
            yield "standard output ends in the middle of a line"
        found = {}
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                yield "a line of standard output is not JSON"
                continue
            if record["type"] in ("response", "error"):
                found.setdefault(record["url"], []).append(record)
        # A list that could not be read has a record without a URL; the rest was never asked for.
        excused = excused or found.pop(None, None) is not None
        for url, body in bodies.items():
            mine = found.pop(url, [])
            scheme = url.split(":")[0]
            if len(mine) != 1 and not excused:
                yield f"{len(mine)} terminal records of the {scheme} URL"
            for record in mine:
                if case.status == 0 and not record["ok"]:
                    yield f"status 0, but the {scheme} record is not ok"
                digest = (record.get("body") or {}).get("sha256")
                # Where libcrypto cannot be loaded, a record says that it has no hash.
                is_right = record.get("size") == len(body) if case.injected and digest is None \
                    else digest == hashlib.sha256(body).hexdigest()
                if record["ok"] and not is_right:
                    yield f"the {scheme} record is ok, with a wrong body"
        if found:
            yield f"records of other URLs: {', '.join(found)}"
    return check


def store(name, old, added, most=1, changes=None, wanted=True):
    """Every old line is still there, in order; what is new is whole and as expected.

    - added: a regular expression for new lines, of which there are at most `most`.
    - changes: lines that begin so may have been replaced by one that begins so, or be removed
      where nothing may be added.
    - wanted: whether status 0 promises the change.
    """
    def check(case):
        found = content(case, name)
        if found is None:
            if old is not None:
                yield f"{name} is gone"
            elif case.status == 0 and wanted:
                yield f"status 0, but there is no {name}"
            return
        if found and not found.endswith(b"\n"):
            yield f"{name} ends in the middle of a line"
        before = (old or b"").splitlines()
        after = found.splitlines()
        fresh = list(after)
        position = 0
        lost = []
        for line in before:
            if line in after[position:]:
                position = after.index(line, position) + 1
                fresh.remove(line)
            elif changes is None or not line.startswith(changes):
                lost.append(line)
        if lost:
            yield f"{name} has lost {len(lost)} of {len(before)} lines"
        for line in fresh:
            if not re.fullmatch(added, line):
                yield f"{name} has an unexpected line {line[:80]!r}"
        if len(fresh) > most:
            yield f"{name} has {len(fresh)} new lines"
        if case.status == 0 and wanted and after == before:
            yield f"status 0, but {name} is unchanged"
    return check


def identity(name):
    """One file with certificate and key, whole and private, or none."""
    def check(case):
        path = f"{case.directory}/{IDENTITIES}/{name}.pem"
        if not os.path.exists(path):
            if case.status == 0:
                yield "status 0, but there is no identity"
            return
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(path)
        except ssl.SSLError as error:
            yield f"no identity can be read from {name}.pem: {error}"
        if os.stat(path).st_mode & 0o077:
            yield "others may read the key"
    return check


def uploaded(titan, body):
    def check(case):
        for received in titan.received.pop(case.name, []):
            if received != body:
                yield "the server got something else"
            case.uploads = True
        if case.status == 0 and case.out != b"got %d bytes\n" % len(body):
            yield "status 0, but the server's answer is not on standard output"
        if case.status == 0 and not getattr(case, "uploads", False):
            yield "status 0, but the server got nothing"
    return check


def all_of(*checks):
    def check(case):
        for one in checks:
            yield from one(case)
    return check


def scenarios(place, titan, measure):
    """All of them.

    - place: the servers' places by scheme.
    - measure: runs smallweb without a fault, and returns its standard output and a file: its
      known_hosts unless `file` names another.
    """
    size = 200_000
    gemini, gopher, http, git = (place[name] for name in ("gemini", "gopher", "http", "git"))
    big = measure("get", f"gopher://{gopher}/9/big/{size}")[0]
    small = measure("get", f"gopher://{gopher}/9/1k")[0]
    guide_url = f"git://{git}/demo.git//docs/guide.md?ref=v1"
    guide = measure("get", guide_url)[0]
    pinned = KNOWN_HOSTS + measure("get", f"gemini://{gemini}/")[1].splitlines(True)[-1]
    titan_pin = measure("trust", "add", titan.place)[1].splitlines(True)[-1]
    carol = measure("identity", "new", "carol", file=IDENTITIES + "/carol.pem")[1]
    key = re.search(rb"sha256:[0-9a-f]{64}", pinned.splitlines()[-1])[0]
    if len(big) != size or len(small) != 1024 or not guide:
        raise SystemExit("the servers do not serve what they should")

    here = gemini.encode()
    visited = re.escape(here) + rb" k " + key + rb"( [a-z]+=[^ ]+)*"
    page = f"gemini://{gemini}/1k"
    known = store(STORE, pinned, visited, changes=here + b" ", wanted=False)
    first = store(STORE, KNOWN_HOSTS, visited)
    added_pin = rb"new\.example:1965 k sha256:(cd){32}( [a-z]+=[^ ]+)*"
    list_file = f"# two pages\ngopher://{gopher}/9/1k\nhttp://{http}/1k\n".encode()
    two = {f"gopher://{gopher}/9/1k": small, f"http://{http}/1k": small}
    record = rb'\{"type":"(response|error)","v":1,.*\}'

    def saved(url, old, check=None, files=None, **more):
        before = dict(files or {})
        if old is not None:
            before["out/file"] = old
        body = guide if url == guide_url else big
        checks = [output("out/file", body, old)] + ([check] if check else [])
        # What a cut left of a body that can be continued.
        part = [r"out/file\.part"] if url.startswith("http:") else []
        return Scenario(more.pop("name"), ["get", "-o", "{}/out/file", url], all_of(*checks),
                        before, ["out/file"] + part, **more)

    return [
        saved(f"gopher://{gopher}/9/big/{size}", OLD, name="get -o, gopher over an old file"),
        saved(f"gemini://{gemini}/big/{size}", None, known, {STORE: pinned},
              name="get -o, gemini"),
        saved(f"http://{http}/big/{size}", OLD, name="get -o, http over an old file",
              libraries=True),
        saved(guide_url, None, name="get -o, a file out of git"),
        Scenario("get -O, the name is taken",
                 ["get", "-O", "--output-dir", "{}/out", f"gopher://{gopher}/9/1k"],
                 all_of(output("out/1k", OLD, OLD), output("out/1k.1", small)),
                 {"out/1k": OLD}, [r"out/1k\.1"]),
        Scenario("get -C - -o, the rest of a file",
                 ["get", "-C", "-", "-o", "{}/out/file", f"http://{http}/big/{size}"],
                 resumed("out/file", big, big[:1000]), {"out/file": big[:1000]}),
        Scenario("get to standard output, a name to resolve",
                 ["get", f"gopher://localhost:{gopher.split(':')[1]}/9/1k"], printed(small)),
        Scenario("get -j 2 -m, bodies held back in files",
                 ["get", "-j", "2", "-m", "60", f"gopher://{gopher}/9/big/{size}",
                  f"http://{http}/big/{size}"], printed(big, big)),
        Scenario("get --history",
                 ["get", "--history", f"gopher://{gopher}/9/1k"],
                 all_of(printed(small),
                        store(PAST, HISTORY, rb"\d+\tgopher://.*/9/1k", wanted=False)),
                 {PAST: HISTORY}),
        Scenario("get --json, gopher", ["get", "--json", f"gopher://{gopher}/9/1k"],
                 records({f"gopher://{gopher}/9/1k": small})),
        Scenario("get --json, gemini, pinned", ["get", "--json", page],
                 all_of(records({page: small}), known), {STORE: pinned}),
        Scenario("get --json, a list from a file, two at a time",
                 ["get", "--json", "-j", "2", "@{}/out/list"],
                 records(two), {"out/list": list_file}),
        Scenario("first visit", ["get", page], all_of(printed(small), first),
                 {STORE: KNOWN_HOSTS}),
        Scenario("first visit, no store yet", ["get", page],
                 all_of(printed(small), store(STORE, None, visited + rb"|#.*", most=2)),
                 {}, [STORE]),
        Scenario("trust add --pin",
                 ["trust", "add", "new.example", "--pin", "sha256:" + "cd" * 32],
                 store(STORE, KNOWN_HOSTS, added_pin), {STORE: KNOWN_HOSTS}),
        Scenario("trust add, from the server", ["trust", "add", gemini], first,
                 {STORE: KNOWN_HOSTS}),
        Scenario("trust remove", ["trust", "remove", "example.org"],
                 store(STORE, KNOWN_HOSTS, b"(?!)", most=0, changes=b"example.org:"),
                 {STORE: KNOWN_HOSTS}),
        Scenario("bookmarks add", ["bookmarks", "add", "gemini://new.example/", "A", "title"],
                 store(MARKS, BOOKMARKS, rb"gemini://new\.example/\tA title"),
                 {MARKS: BOOKMARKS}),
        Scenario("bookmarks remove", ["bookmarks", "remove", "gemini://example.org/"],
                 store(MARKS, BOOKMARKS, b"(?!)", most=0, changes=b"gemini://example.org/\t"),
                 {MARKS: BOOKMARKS}),
        Scenario("identity new", ["identity", "new", "carol"],
                 all_of(identity("carol"),
                        store(BOUND, BINDINGS, b"(?!)", most=0, wanted=False)),
                 {BOUND: BINDINGS}, [IDENTITIES + r"/carol\.pem"]),
        Scenario("identity use", ["identity", "use", "carol", "gemini://new.example/a"],
                 store(BOUND, BINDINGS, rb"carol gemini://new\.example:1965/a"),
                 {BOUND: BINDINGS, IDENTITIES + "/carol.pem": carol}),
        # A send that fails on a good connection leaves a server that waits for the rest.
        Scenario("put",
                 ["put", "--read-timeout", "3", f"titan://{titan.place}/{{name}}",
                  "{}/out/notes.txt"],
                 all_of(uploaded(titan, big[:50_000]),
                        store(STORE, KNOWN_HOSTS + titan_pin, re.escape(titan_pin.split()[0])
                              + rb" k .*", changes=titan.place.encode() + b" ", wanted=False)),
                 {STORE: KNOWN_HOSTS + titan_pin, "out/notes.txt": big[:50_000]}),
        Scenario("get --ledger",
                 ["get", "--json", "--ledger", "{}/data/ledger", *two],
                 all_of(records(two), store("data/ledger", LEDGER, record, most=2)),
                 {"data/ledger": LEDGER}),
    ]
