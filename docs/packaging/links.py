# SPDX-License-Identifier: MIT
"""Finds the dead links of a directory of web pages: files and anchors that do not exist, anchors
that exist twice, and pages to which nothing leads. Links to other sites are not followed.

usage: links.py DIRECTORY
"""

import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.twice, self.links = set(), [], []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            value = value or ""
            if name == "id" or name == "name" and tag == "a":
                if value in self.anchors:
                    self.twice.append(value)
                self.anchors.add(value)
            elif name in ("href", "src"):
                self.links.append(value)
            elif name == "srcset":
                self.links += [part.split()[0] for part in value.split(",") if part.strip()]


def problems(directory):
    """A sentence for each, and how many pages and links there are."""
    directory = os.path.realpath(directory)
    pages = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(folder, name)
                pages[path] = Page(path)
    found, reached, count = [], set(), 0
    for path, page in sorted(pages.items()):
        name = os.path.relpath(path, directory)
        found += ["%s: two anchors are called #%s" % (name, anchor) for anchor in page.twice]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            there = path
            if parts.path:
                there = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path)))
            if not there.startswith(directory + "/"):
                found.append("%s: %s leads out of the site" % (name, link))
            elif not os.path.isfile(there):
                found.append("%s: %s does not exist" % (name, link))
            elif parts.fragment and (
                    there not in pages or unquote(parts.fragment) not in pages[there].anchors):
                found.append("%s: %s: there is no such anchor" % (name, link))
            elif there != path:
                reached.add(there)
    for path in sorted(set(pages) - reached - {directory + "/index.html"}):
        found.append("%s: no page links to it" % os.path.relpath(path, directory))
    return found, len(pages), count


def report(directory):
    """Prints what was found; 1 if that is a problem."""
    found, pages, count = problems(directory)
    for line in found:
        print("not ok - " + line)
    if not found:
        print("ok - %d links of %d pages lead to pages, files and anchors that exist" % (
            count, pages))
    return 1 if found or not pages else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: links.py DIRECTORY")
    sys.exit(report(sys.argv[1]))
