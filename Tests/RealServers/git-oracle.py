#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What git says in a full clone is what smallweb must say without one.

usage: git-oracle.py SMALLWEB [--repositories N] [--seed N] [--sources DIRECTORY…]

Makes N repositories at random (the seed says which), and one of each directory of --sources, such
as an unpacked Debian source package; serves them with git daemon, and compares archives, logs,
differences and descriptions. Every name, message, mode, attribute and shape of history that git
fast-import takes may occur. Prints one line for each repository, and what failed, of which
KEEP=DIRECTORY keeps the repositories.
"""

import argparse
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import time

NAMES = rb"""README run.sh "quoted" back\slash #hash 100% -dash ... page.txt page.crlf page.u16
    page.id page.l1 page.bin subst secret.key auto.txt ?q""".split()
NAMES += [b"a b", "ünï".encode(), b"caf\xe9", b"x" * 101, b"new\nline", b"tab\there"]
DIRECTORIES = [b"", b"", b"lib", b"docs", b"docs/deep", b"docs/deep/er", b"a dir", b"y" * 90]
DIRECTORIES += ["☃".encode()]
RULES = b"""*.crlf text eol=crlf
*.u16 working-tree-encoding=UTF-16
*.l1 working-tree-encoding=ISO-8859-1
*.id ident
*.id -ident
subst export-subst
*.key export-ignore
*.key !export-ignore
*.key hidden
[attr]hidden export-ignore
docs/deep export-ignore
er/ export-ignore
**/README export-ignore
* text=auto
auto.* text=auto eol=crlf
*.bin binary
*.txt -text
page.* -export-ignore
/lib/* text eol=crlf
"a b" export-ignore
!not export-ignore
# a comment
broken -1=x""".split(b"\n")
PEOPLE = [b"A U Thor <a@one.test>", "José Ünï <j@two.test>".encode(), b"A  B <x@y>", b"No Mail <>"]
PEOPLE += [b"caf\xe9 <l@one.test>"]
MESSAGES = [b"a subject\n", b"", b"\n\n  leading\n", b"no line end", "Grüße\n\n☃\n".encode()]
MESSAGES += [b"subject\n\nbody\twith\ttabs\n\n\n  indented  \n\n", b"\xff not UTF-8\n"]
MESSAGES += [b"two\nlines of subject\n\nand a body\n", b"trailing blanks   \n", b"x" * 3000 + b"\n"]
MESSAGES += [b"Merge branch\n\n# not a comment\n    indented by four\n"]
SUBSTITUTED = rb"""$Format:%H %T %P$
$Format:%an <%ae> %ad|%aI|%at$ $Format:%s$
$Format:%cn %cD %ci %ct%n%%%x41$
$Format:
$Id$ $Id: old $""".split(b"\n")


class Repository:
    """A history that is made at random, and what of it may be asked for."""

    def __init__(self, path, draw, object_format):
        self.path, self.draw = path, draw
        subprocess.run(
            ["git", "init", "-q", "--bare", "-b", "main", f"--object-format={object_format}", path],
            check=True,
        )
        self.zeros = 40 if object_format == "sha1" else 64
        # Where a commit is not younger than its parents, git's own counts are approximations.
        self.skewed = draw.random() < 0.3
        self.git("config", "uploadpack.allowFilter", "true")

    def git(self, *words, check=True, **options):
        return subprocess.run(
            ["git", "-C", self.path, *words],
            check=check,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def lines(self, *words):
        return self.git(*words).stdout.decode().splitlines()

    def import_history(self):
        draw, stream, trees, heads = self.draw, [], {}, {b"main": None}
        clock = draw.randrange(10**9, 17 * 10**8)
        for mark in range(1, draw.randrange(8, 120)):
            branch = draw.choice(list(heads))
            parents = [heads[branch]] if heads[branch] else []
            if parents and draw.random() < 0.2 and len(heads) < 8:
                branch = b"b%d" % mark if draw.random() < 0.7 else b"deep/b-%d" % mark
                if draw.random() < 0.2:
                    parents = []
            elif parents and draw.random() < 0.3:
                others = {head for head in heads.values() if head} - set(parents)
                parents += draw.sample(
                    sorted(others), min(len(others), draw.choice([1, 1, 1, 2, 3]))
                )
            tree = {}
            for path in sorted({path for parent in parents for path in trees[parent]}):
                found = [trees[parent][path] for parent in parents if path in trees[parent]]
                if draw.random() < 0.97:
                    self.put(tree, path, draw.choice(found))
            for _ in range(draw.choice([0, 1, 1, 1, 2, 5]) if parents else 12):
                self.change(tree)
            clock += draw.choice([0 if self.skewed else 5, 1, 60, 86400])
            if self.skewed and draw.random() < 0.1:
                clock -= draw.randrange(200_000)
            zone = draw.choice([b"+0000", b"+0545", b"-0730", b"+1400", b"-0000", b"+0100"])
            message = draw.choice(MESSAGES)
            stream.append(b"commit refs/heads/%s\nmark :%d\n" % (branch, mark))
            stream.append(
                b"author %s %d %s\n"
                % (draw.choice(PEOPLE), clock - draw.choice([0, 0, 5000]), zone)
            )
            stream.append(b"committer %s %d %s\n" % (draw.choice(PEOPLE), clock, zone))
            if draw.random() < 0.05:
                message = b"M\xfcnchen\n\ncaf\xe9\n"
                stream.append(b"encoding ISO-8859-1\n")
            stream.append(b"data %d\n%s\n" % (len(message), message))
            for number, parent in enumerate(parents):
                stream.append(b"%s :%d\n" % (b"merge" if number else b"from", parent))
            stream.append(b"deleteall\n")
            for path, (mode, content) in tree.items():
                quoted = (
                    b'"'
                    + b"".join(
                        b"\\%03o" % byte if byte < 32 or byte in b'"\\' else bytes([byte])
                        for byte in path
                    )
                    + b'"'
                )
                if mode == b"160000":
                    stream.append(b"M %s %s %s\n" % (mode, content, quoted))
                else:
                    stream.append(
                        b"M %s inline %s\ndata %d\n%s\n" % (mode, quoted, len(content), content)
                    )
            stream.append(b"\n")
            trees[mark], heads[branch] = tree, mark
            if draw.random() < 0.12:
                if draw.random() < 0.5:
                    stream.append(b"reset refs/tags/light-%d\nfrom :%d\n\n" % (mark, mark))
                else:
                    stamp = clock + draw.choice([0, 100, -100, 10**6])
                    stream.append(
                        b"tag v%d\nfrom :%d\ntagger T <t@one.test> %d +0000\ndata 2\nt\n"
                        % (mark, mark, stamp)
                    )
        subprocess.run(
            ["git", "-C", self.path, "fast-import", "--quiet", "--force"],
            input=b"".join(stream),
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for number, tag in enumerate(self.lines("tag")):
            if draw.random() < 0.2:
                self.git(
                    "-c",
                    "user.name=T",
                    "-c",
                    "user.email=t@one.test",
                    "tag",
                    "-a",
                    "-m",
                    "of a tag",
                    f"again-{number}",
                    tag,
                )
        if draw.random() < 0.5:
            self.git("repack", "-adq")
            self.git("pack-refs", "--all")

    def put(self, tree, path, entry):
        """Unless a file is where the path has a directory, or the reverse."""
        above = {path[:at] for at, byte in enumerate(path) if byte == ord("/")}
        if not above & set(tree) and not any(other.startswith(path + b"/") for other in tree):
            tree[path] = entry

    def change(self, tree):
        draw = self.draw
        if tree and draw.random() < 0.2:
            del tree[draw.choice(sorted(tree))]
            return
        directory, name = draw.choice(DIRECTORIES), draw.choice(NAMES)
        if draw.random() < 0.15:
            name = b".gitattributes"
        path = directory + b"/" + name if directory else name
        kind = draw.random()
        if name == b".gitattributes":
            entry = (
                b"100644",
                b"\n".join(draw.sample(RULES, draw.randrange(1, 7))) + draw.choice([b"\n", b""]),
            )
        elif kind < 0.06:
            entry = (
                b"120000",
                draw.choice([b"README", b"../out", b"z" * 130, b"/etc/passwd", b"caf\xe9"]),
            )
        elif kind < 0.1:
            entry = (b"160000", bytes(draw.choice(b"123456789abcdef") for _ in range(self.zeros)))
        else:
            entry = (draw.choice([b"100644", b"100644", b"100755"]), self.content(name))
        self.put(tree, path, entry)

    def content(self, name):
        draw = self.draw
        if name == b"page.bin":
            return draw.randbytes(draw.randrange(2000))
        if name in (b"subst", b"page.id"):
            return b"\n".join(draw.sample(SUBSTITUTED, 3)) + b"\n"
        words = [b"one", b"two\r", "Grüße ☃".encode(), b"", b"\tfour", b"%d" % draw.randrange(50)]
        if draw.random() < 0.05:
            words.append(b"\0")
        return b"\n".join(
            draw.choice(words) for _ in range(draw.choice([0, 1, 3, 40, 400]))
        ) + draw.choice([b"\n", b"\n", b""])

    def import_directory(self, source):
        """The directory as a first commit, and then 30 that touch some of its files."""
        draw, where = self.draw, {"GIT_WORK_TREE": str(source)}
        named = dict(
            os.environ,
            GIT_AUTHOR_NAME="S",
            GIT_AUTHOR_EMAIL="s@one.test",
            GIT_COMMITTER_NAME="S",
            GIT_COMMITTER_EMAIL="s@one.test",
        )
        add = lambda *words, **more: self.git(*words, env=dict(named, **more))
        self.git(
            "--git-dir=.",
            f"--work-tree={source}",
            "-c",
            "core.bare=false",
            "-c",
            "core.autocrlf=false",
            "add",
            "-Af",
            ".",
        )
        tree, parent, files = (
            self.lines("write-tree")[0],
            [],
            self.git("ls-files", "-z").stdout.split(b"\0")[:-1],
        )
        for number in range(30):
            stamp = f"{1600000000 + number * 1000} +0000"
            commit = (
                add(
                    "commit-tree",
                    tree,
                    *parent,
                    "-m",
                    f"change {number}",
                    GIT_AUTHOR_DATE=stamp,
                    GIT_COMMITTER_DATE=stamp,
                )
                .stdout.decode()
                .strip()
            )
            if number % 7 == 0:
                add("tag", "-a", "-m", "t", f"v{number}", commit, GIT_COMMITTER_DATE=stamp)
            parent = ["-p", commit]
            for path in draw.sample(files, min(len(files), 1 + len(files) // 50)):
                blob = (
                    self.git(
                        "hash-object",
                        "-w",
                        "--stdin",
                        input=draw.randbytes(20).hex().encode() + b"\n",
                    )
                    .stdout.decode()
                    .strip()
                )
                self.git(
                    "update-index",
                    "-z",
                    "--index-info",
                    input=b"100644 %s\t%s\0" % (blob.encode(), path),
                )
            tree = self.lines("write-tree")[0]
        self.git("update-ref", "refs/heads/main", commit)


class Comparison:
    def __init__(self, smallweb, repository, url):
        self.smallweb, self.repository, self.url = smallweb, repository, url
        self.checks, self.longer, self.failures = 0, 0, []

    def ask(self, *words):
        return subprocess.run(
            [self.smallweb, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
        )

    def same(self, wanted, words, status=0):
        reply = self.ask(*words)
        self.checks += 1
        if reply.returncode != status or (status == 0 and reply.stdout != wanted):
            told = reply.stderr.decode(errors="replace").strip()[-300:]
            self.failures.append(
                f"smallweb {' '.join(words)}: status {reply.returncode}, {told or 'other bytes'}"
            )

    def escaped(self, path):
        return "".join(
            (
                chr(byte)
                if chr(byte).isascii() and chr(byte).isalnum() or byte in b"/._-"
                else f"%{byte:02X}"
            )
            for byte in path
        )

    def run(self):
        repository, draw = self.repository, self.repository.draw
        names = lambda pattern: repository.lines(
            "for-each-ref", "--format=%(refname:short)", pattern
        )
        refs = names("refs/heads") + names("refs/tags")
        some = ["main"] + draw.sample(refs, min(len(refs), 5))
        for ref in some:
            self.archives(ref)
            self.descriptions(ref)
            self.logs(ref, draw.choice(refs))
            self.differences(ref, draw.choice(refs))

    def archives(self, ref):
        repository, draw = self.repository, self.repository.draw
        git = lambda *words: repository.git("archive", "--format=tar", *words, check=False)
        listed = repository.git("ls-tree", "-rtz", ref).stdout.split(b"\0")[:-1]
        # A submodule alone is not archived by git.
        paths = [entry.split(b"\t", 1)[1] for entry in listed if not entry.startswith(b"160000")]
        for path in [None] + draw.sample(paths, min(len(paths), 3)):
            # A path that begins like git's magic is meant as it is.
            wanted = git(ref, *([b":(literal)" + path] if path else []))
            url = f"{self.url}//{self.escaped(path)}" if path else self.url
            url += f"?tar&ref={ref}"
            # git refuses a path of which export-ignore leaves nothing: an empty archive here.
            if wanted.returncode == 0:
                self.same(wanted.stdout, ["get", url])

    def logs(self, ref, other):
        draw, git = self.repository.draw, self.repository.lines
        listed = self.repository.git("ls-tree", "-rz", "--name-only", ref).stdout.split(b"\0")
        paths = [path.decode() for path in listed if path and path.isascii() and b"\n" not in path]
        path = draw.choice(paths) if paths else "none"
        for options, versions, path in [
            ([], ref, None),
            (["-n", "3"], ref, None),
            ([], ref, path),
            ([], ref, path.split("/")[0]),
            ([], f"{other}..{ref}", None),
            ([], f"{other}..{ref}", path),
        ]:
            words = [
                "log",
                "--format",
                "full",
                *options,
                self.url,
                versions,
                *(["--", path] if path else []),
            ]
            literal = ["--", f":(literal){path}"] if path else []
            wanted = self.repository.git(
                "log", "--no-abbrev", "--format=medium", *options, versions, *literal
            ).stdout
            if ".." not in versions or not (path or self.repository.skewed):
                self.same(wanted, words)
                continue
            reply = self.ask(*words)
            self.checks += 1
            found = re.findall(rb"^commit (.+)", reply.stdout, re.M)
            if path:
                # Where git looks at a merge before it knows that a parent is excluded, it follows
                # that parent, and lists less.
                holds = set(re.findall(rb"^commit (.+)", wanted, re.M)) <= set(found)
                self.longer += holds and reply.stdout != wanted
            else:
                # Where clocks run back, git may list what the first version has, too, and send it.
                holds = reply.stdout == wanted or sorted(map(bytes.decode, found)) == sorted(
                    set(git("rev-list", ref)) - set(git("rev-list", other))
                )
            if reply.returncode or not holds:
                self.failures.append(
                    f"smallweb {' '.join(words)}: status {reply.returncode}, other commits"
                )

    def differences(self, ref, other):
        wanted = self.repository.git(
            "diff", "--no-renames", "--raw", "--no-abbrev", "-z", f"{other}..{ref}"
        )
        self.same(wanted.stdout, ["diff", "--raw", "-z", self.url, f"{other}..{ref}"])

    def descriptions(self, ref):
        for options in [], ["--tags"]:
            wanted = self.repository.git("describe", "--abbrev=10", *options, ref, check=False)
            words = ["describe", *options, self.url, ref]
            if wanted.returncode:
                self.same(b"", words, 22)
            elif not self.repository.skewed:
                self.same(wanted.stdout, words)
            else:
                self.described(words, ref)

    def described(self, words, ref):
        """Where clocks stand or run back, git counts too high: ours must be true of the tag."""
        reply = self.ask(*words)
        self.checks += 1
        found = re.fullmatch(r"(.+?)(?:-(\d+)-g([0-9a-f]{10}))?\n", reply.stdout.decode())
        if reply.returncode or not found:
            self.failures.append(f"smallweb {' '.join(words)}: status {reply.returncode}")
            return
        count = self.repository.lines("rev-list", "--count", f"{found[1]}..{ref}")[0]
        ancestor = (
            self.repository.git(
                "merge-base", "--is-ancestor", found[1], ref, check=False
            ).returncode
            == 0
        )
        if not ancestor or (found[2] or "0") != count:
            self.failures.append(
                f"smallweb {' '.join(words)}: {found[0].strip()}, but {count} commits follow"
            )


def serve(root):
    """A daemon, and its port, which was free a moment ago."""
    for _ in range(5):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        daemon = subprocess.Popen(
            [
                "git",
                "daemon",
                "--listen=127.0.0.1",
                f"--port={port}",
                "--reuseaddr",
                "--export-all",
                f"--base-path={root}",
                root,
            ],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        end = time.monotonic() + 120
        while daemon.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return daemon, port
            except ConnectionRefusedError:
                time.sleep(0.01)
    sys.exit("git-oracle.py: git daemon does not start")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("smallweb", type=os.path.realpath)
    parser.add_argument("--repositories", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sources", nargs="*", default=[], type=os.path.realpath)
    arguments = parser.parse_args()
    os.environ.update(
        GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null", LC_ALL="C.UTF-8", TZ="UTC"
    )
    checks = failures = 0
    with tempfile.TemporaryDirectory(prefix="git-oracle-") as root:
        os.environ["HOME"] = root
        daemon, port = serve(root)
        try:
            jobs = [(f"random {number}", None) for number in range(arguments.repositories)]
            jobs += [(os.path.basename(source), source) for source in arguments.sources]
            for number, (name, source) in enumerate(jobs):
                draw = random.Random(f"{arguments.seed} {name}")
                path = os.path.join(root, f"{number}.git")
                repository = Repository(path, draw, "sha256" if draw.random() < 0.25 else "sha1")
                if source:
                    repository.skewed = False
                    repository.import_directory(source)
                else:
                    repository.import_history()
                comparison = Comparison(
                    arguments.smallweb, repository, f"git://127.0.0.1:{port}/{number}.git"
                )
                comparison.run()
                checks += comparison.checks
                failures += len(comparison.failures)
                state = "not ok" if comparison.failures else "ok"
                print(
                    f"{state} - git oracle: {name}, seed {arguments.seed}: {comparison.checks} "
                    f"comparisons, {comparison.longer} longer logs",
                    flush=True,
                )
                for failure in comparison.failures[:10]:
                    print(f"    {failure}", flush=True)
                if comparison.failures and (kept := os.environ.get("KEEP")):
                    subprocess.run(["cp", "-r", path, kept], check=True)
        finally:
            daemon.terminate()
            daemon.wait()
    print(f"{checks - failures} of {checks} comparisons hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
