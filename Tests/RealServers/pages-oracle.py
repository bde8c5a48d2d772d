#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What html5lib's tree of a page says is what smallweb must say without a tree.

usage: pages-oracle.py SMALLWEB [--pages N] [--seed N] [--show N] [--trees DIRECTORY] DIRECTORY…

Takes N files of HTML at random (the seed says which) out of the directories, serves them on
loopback, and compares the links of `links --all` (element, target and URL, in their order) and the
words of `get --render text` with those of html5lib's tree. Prints how many pages agree and the
first differences; the status is 1 if fewer do than BARS say. --trees keeps what was made of the
trees for the next run. Needs html5lib; runs in the python that has it.
"""

import argparse
import difflib
import hashlib
import http.server
import inspect
import itertools
import json
import os
import pathlib
import pickle
import random
import re
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from urllib.parse import quote, unquote, urljoin, urlsplit

import html5lib

# Of a thousand pages, so many agree.
BARS = {"links": 995, "words": 990}
PREFIX = "{http://www.w3.org/1999/xhtml}"
SPACE = " \t\n\f\r"

# Elements that are not shown, whatever their attributes, and those whose links are not the page's.
WITHOUT_LINKS = {"template", "select", "datalist"}
HIDDEN = WITHOUT_LINKS | set("script style iframe noembed noframes rp title".split())
# Elements of lines of their own.
BOXES = set("""address article aside center details dialog div fieldset figcaption figure footer
    header hgroup main nav search section summary p form dt dd legend option optgroup body html
    ul ol dl menu dir li td th h1 h2 h3 h4 h5 h6 pre textarea xmp plaintext listing blockquote
    table tr tbody thead tfoot caption colgroup hr br button""".split())
RELATIONS = {"alternate", "next", "prev", "up", "author", "license", "stylesheet", "icon"}
EMBEDDED = {"script": ["src"], "audio": ["src"], "embed": ["src"], "track": ["src"],
    "video": ["src", "poster"], "object": ["data"]}


# --- The tree


def words_of(text):
    return [word for word in re.split(f"[{SPACE}]+", text or "") if word]


def target(value):
    """A reference without what the URL standard removes; None for one that leads nowhere."""
    value = re.sub("[\t\n\r]", "", value.strip("".join(map(chr, range(33)))))
    return None if re.match("(javascript|data|blob):", value, re.I) else value


def candidates(srcset):
    found, rest = [], srcset
    while rest := rest.lstrip(SPACE + ","):
        url = re.match(f"[^{SPACE}]+", rest)[0]
        rest = rest[len(url):]
        found.append(url.rstrip(","))
        if not url.endswith(","):
            rest = re.sub(r"^(\([^)]*\)?|[^,(])*", "", rest)
    return found


def refreshed(content):
    found = re.match(
        rf"\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?(\"[^\"]*|'[^']*|.*)", content, re.I | re.S)
    return found[1].lstrip("\"'") if found else ""


def is_image_button(name, element):
    return name == "input" and (element.get("type") or "").lower() == "image"


class Tree:
    """The links of a page, as (element, target), and its words."""

    def __init__(self, root):
        self.links, self.parts, self.base, self.title = [], [], None, None
        self.has_heading = False
        self.walk(root, True, True)
        self.words = words_of("".join(self.parts))
        if not self.has_heading:
            self.words = words_of(self.title) + self.words

    def link(self, name, value):
        value = target(value)
        if value is not None:
            self.links.append((name, value))

    def note(self, name, element):
        """The links of an element; those of `a` and frames may be empty."""
        get = element.get
        key = {"a": "href", "area": "href", "iframe": "src", "frame": "src"}.get(name)
        if key and get(key) is not None:
            self.link(name, get(key))
        found = []
        if name in ("img", "source") or is_image_button(name, element):
            found = [get("src")] + candidates(get("srcset") or "")
        elif name == "link":
            rel = {word.lower() for word in words_of(get("rel"))}
            found = [get("href")] if rel & RELATIONS else []
        elif name == "meta" and (get("http-equiv") or "").lower() == "refresh":
            found = [refreshed(get("content") or "")]
        elif name == "base" and get("href") is not None and self.base is None:
            self.base = target(get("href")) or ""
        for value in filter(None, found + [get(key) for key in EMBEDDED.get(name, [])]):
            self.link(name, value)

    def say(self, text, is_shown):
        if is_shown and text:
            self.parts.append(text)

    def say_label(self, name, element, is_shown):
        """Words in brackets, for an image or a frame."""
        label = ""
        if name in ("img", "area") or is_image_button(name, element):
            label = element.get("alt")
        elif name in ("iframe", "frame") and element.get("src") is not None:
            if target(element.get("src")) is not None:
                label = element.get("title") or element.get("name") or name
        words = words_of(label)
        self.say(f"[{' '.join(words)}]" if words else "", is_shown)

    def walk(self, element, is_shown, follows):
        # Neither comments, nor SVG and MathML, whose links are none of the page.
        if not isinstance(element.tag, str) or not element.tag.startswith(PREFIX):
            return
        name = element.tag[len(PREFIX):]
        if follows:
            self.note(name, element)
        if name == "title" and is_shown and self.title is None:
            self.title = element.text
        is_visible = is_shown and (element.get("hidden") is None or name in ("html", "body"))
        self.say_label(name, element, is_visible)
        before, after = {"q": ("\u201c", "\u201d"), "sup": ("^", ""), "rt": ("(", ")")}.get(
            name, ("", ""))
        if name in BOXES:
            before = after = "\n"
        # A box that is hidden ends the line all the same.
        has_edges = is_shown if name in BOXES else is_visible
        self.say(before, has_edges)
        mark = len(self.parts)
        inner = is_visible and name not in HIDDEN
        self.say(element.text, inner)
        for child in element:
            self.walk(child, inner, follows and name not in WITHOUT_LINKS)
            self.say(child.tail, inner)
        if name == "h1" and inner and words_of("".join(self.parts[mark:])):
            self.has_heading = True
        self.say(after, has_edges)


def charset(page):
    """The charset where the page names none: UTF-8 if its beginning is, else windows-1252."""
    try:
        page[:1024].decode()
    except UnicodeDecodeError as error:
        if error.end < min(len(page), 1024) or error.reason != "unexpected end of data":
            return "windows-1252"
    return "utf-8"


def tree(path):
    page = pathlib.Path(path).read_bytes()
    parser = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"))
    # As html5lib finds it, but for its guesses.
    root = parser.parse(page, default_encoding=charset(page), useChardet=False)
    sys.setrecursionlimit(100_000)
    found = Tree(root)
    return found.base, found.links, found.words


def tree_or_kept(path, kept):
    if not kept:
        return tree(path)
    rules = inspect.getsource(Tree) + inspect.getsource(tree)
    name = hashlib.sha256(pathlib.Path(path).read_bytes() + rules.encode()).hexdigest()
    file = pathlib.Path(kept, name)
    if not file.exists():
        file.write_bytes(pickle.dumps(tree(path)))
    return pickle.loads(file.read_bytes())


# --- smallweb


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    paths = []

    def do_GET(self):
        page = pathlib.Path(self.paths[int(self.path.split("/")[1])]).read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


def run(smallweb, *words):
    done = subprocess.run([smallweb, *words], capture_output=True, env=os.environ | {
        "COLUMNS": "10000", "NO_COLOR": "1", "NO_PROXY": "*"})
    if done.returncode:
        raise SystemExit(f"{words}: {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode("utf-8", "surrogateescape")


def links_of(smallweb, urls):
    """The links of all pages, as (element, target, URL)."""
    found, links = {}, []
    for line in run(smallweb, "links", "--all", "--json", "-Z", *urls).splitlines():
        record = json.loads(line)
        if record["type"] == "link":
            links.append((record["element"], record["raw"], record["url"]))
        elif record["type"] == "response":
            found[record["n"]], links = links, []
    return [found[number] for number in range(len(urls))]


# Marks of blocks, which the comparison leaves to the tests of the suite.
MARK = re.compile(r"#{1,6}|\u2022|>|\d+\.|-{40}")


def bare(words):
    """Words without the numbers of links, and what looks like them, such as that of a note."""
    found = []
    for word in words:
        while (shorter := re.sub(r"\[\d+\]", "", word)) != word:
            word = shorter
        if word and not MARK.fullmatch(word):
            found.append(word)
    return found


def text_of(smallweb, url):
    lines = run(smallweb, "get", "--render", "text", url).split("\n")
    last = len(lines) - 1
    while last > 0 and re.match(r"\[\d+\] ", lines[last - 1]):
        last -= 1
    if last < len(lines) - 1 and lines[last - 1] == "" and lines[last].startswith("[1] "):
        lines = lines[:last]
    return bare(words_of("\n".join(lines)))


def absolute(base, value):
    """The URL, as far as urllib makes it; None without one."""
    try:
        url = urljoin(base, quote(value, safe="!#$%&'()*+,/:;=?@[]~"))
    except ValueError:
        return None
    # urllib drops an empty fragment.
    return url + "#" if value.endswith("#") and not url.endswith("#") else url


def same(url):
    """A URL to compare: programs do not escape the same characters of a fragment."""
    parts = urlsplit(url)
    return unquote(parts._replace(netloc=parts.netloc.lower().rstrip(":")).geturl())


def difference(one, other):
    for kind, a, b, c, d in difflib.SequenceMatcher(None, one, other, False).get_opcodes():
        if kind != "equal":
            around = one[max(0, a - 3):a]
            return f"behind {around}: html5lib {one[a:b][:8]}, smallweb {other[c:d][:8]}"
    return "no difference"


def compare(smallweb, page, found, expected):
    base, links, words = expected
    results = {}
    if [link[:2] for link in found] != links:
        results["links"] = difference(links, [link[:2] for link in found])
    else:
        root = urljoin(page, base) if base and urlsplit(urljoin(page, base)).netloc else page
        for (_, raw, url), wanted in zip(found, (absolute(root, link[1]) for link in links)):
            if url and wanted and urlsplit(wanted).scheme in ("http", "https"):
                if same(url) != same(wanted):
                    results["links"] = f"{raw}: html5lib {wanted}, smallweb {url}"
                    break
    text = text_of(smallweb, page)
    if text != bare(words):
        results["words"] = difference(bare(words), text)
    return results


def pages(directories):
    found = (path for each in directories for path in pathlib.Path(each).resolve().rglob("*.html*"))
    return sorted({str(path) for path in found
        if path.is_file() and not path.is_symlink() and path.suffix != ".gz"})


def main():
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2][7:])
    parser.add_argument("smallweb")
    parser.add_argument("directories", nargs="+")
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--trees")
    options = parser.parse_args()
    every = pages(options.directories)
    Pages.paths = random.Random(options.seed).sample(every, min(options.pages, len(every)))
    if not Pages.paths:
        raise SystemExit("no pages")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    processors = os.cpu_count() or 1
    if options.trees:
        pathlib.Path(options.trees).mkdir(parents=True, exist_ok=True)
    urls = [f"{origin}/{number}/page.html" for number in range(len(Pages.paths))]
    wrong = dict.fromkeys(BARS, 0)
    with ProcessPoolExecutor(processors) as workers, ThreadPoolExecutor(processors) as threads:
        expected = workers.map(
            tree_or_kept, Pages.paths, itertools.repeat(options.trees), chunksize=8)
        results = threads.map(
            compare, itertools.repeat(options.smallweb), urls, links_of(options.smallweb, urls),
            expected)
        for path, result in zip(Pages.paths, results):
            for kind, text in result.items():
                wrong[kind] += 1
                if wrong[kind] <= options.show:
                    print(f"{kind} of {path}: {text}", flush=True)
    count, ok = len(urls), True
    for kind, bar in BARS.items():
        agreed = count - wrong[kind]
        good = agreed * 1000 >= bar * count
        ok = ok and good
        print(f"{'ok' if good else 'not ok'} - {kind} of {agreed} of {count} pages")
    raise SystemExit(0 if ok else 1)


if __name__ == "__main__":
    main()
