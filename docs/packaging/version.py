#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The version of smallweb, in all files that have it. `smallweb --version` is where it comes from.

usage: version.py show
       version.py check                 fails when a file has another one
       version.py set VERSION [DATE]    DATE is the day of the release, 2026-11-24; today by default
"""

import datetime
import os
import re
import sys

SOURCE = ("Sources/SmallWebCLI/Commands/Help/Help.swift", r'(static let version = ")([^"]*)')
# Each pattern is everywhere in its file where the version is; the first group comes before it.
PLACES = [
    SOURCE,
    ("README.md", r'(smallweb\.git", from: ")([^"]*)'),
    ("docs/RELEASING.md", r'(smallweb\.git", from: "|smallweb:)(\d[\w.]*)'),
    ("docs/packaging/Containerfile", r"(?m)(^ARG VERSION=|smallweb:)(\d\S*)"),
    ("docs/packaging/PKGBUILD", r"(?m)(^pkgver=)(.*)$"),
    ("docs/packaging/smallweb.nix", r'(  version = ")([^"]*)'),
    ("docs/packaging/smallweb.rb", r"(download/|smallweb-)(\d[^/]*?)(?=/|-linux)"),
    ("docs/packaging/smallweb.spec", r"(?m)(^Version: +)(.*)$"),
]
MANUAL = "Sources/smallweb-manual/Manual.swift"
DATE = r'(static let date = ")([^"]*)'
# `make generated` writes it.
GENERATED = ("man/smallweb.1", r"(?m)(^This manual is of smallweb )(.*)\.$")
VERSION = r"\d+\.\d+\.\d+"
root = os.path.realpath(os.path.dirname(__file__) + "/../..")


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def versions(path, pattern):
    return [match[2] for match in re.finditer(pattern, read(path))]


def replace(path, pattern, text):
    changed = re.sub(pattern, lambda match: match[1] + text, read(path))
    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
        file.write(changed)


def check(places):
    wanted = versions(*SOURCE)
    problems = [f"{path}: no version is found there" for path, pattern in places
                if not versions(path, pattern)]
    problems += [f"{path}: {found} instead of {wanted[0]}" for path, pattern in places
                 for found in versions(path, pattern) if [found] != wanted]
    if problems:
        sys.exit("\n".join(f"version.py: {problem}" for problem in problems))


def main(words):
    if words == ["show"]:
        print(versions(*SOURCE)[0])
    elif words == ["check"]:
        check(PLACES + [GENERATED])
    elif words[:1] == ["set"] and len(words) in (2, 3) and re.fullmatch(VERSION, words[1]):
        day = datetime.date.fromisoformat(words[2]) if words[2:] else datetime.date.today()
        for path, pattern in PLACES:
            replace(path, pattern, words[1])
        replace(MANUAL, DATE, f"{day:%B} {day.day}, {day.year}")
        check(PLACES)
        print("now: make generated")
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
