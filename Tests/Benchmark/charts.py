# SPDX-License-Identifier: MIT
"""Draws results.json as bar charts, light and dark, and lists them in a README.md beside them.

usage: charts.py [--check] DIRECTORY

The same JSON gives the same bytes. --check writes nothing, and fails when a file is not what the
JSON gives.
"""

import json
import math
import os
import re
import sys
from html import escape

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "Pictures"))
sys.dont_write_bytecode = True
from svg import THEMES

WIDTH, LABELS, LONGEST = 700, 160, 340
ROW, GAP, MARGIN = 20, 30, 18
FONTS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', 'Liberation Sans', sans-serif"

# What README.md shows: the comparisons for a reader who has not used smallweb, and how it names the
# other commands.
FLOOR = {"floor": "least in C", "floor-swift": "least in Swift"}
EACH = {"epoll": "least in C", "floor": "a C process each"}
# What those names mean, for readers who have not seen Tests/Benchmark.
CAPTION = [
    "Median time of many runs; a shorter bar is better, and each group has a scale of its own. In "
    "brackets: the time divided by smallweb's.",
    "Least in C: a C program that only sends the request and copies the reply, without checks and "
    "options: about the shortest time that can be expected here. Least in Swift: the same in Swift. "
    "A C process each: that C program, started again for every page, eight at a time.",
]
OVERVIEW = [
    ("start", "1 KiB over gopher", "A page of 1 KiB over Gopher", FLOOR),
    ("start", "1 KiB over gemini", "A page of 1 KiB over Gemini", FLOOR),
    ("start", "1 KiB over http", "A page of 1 KiB over HTTP", {}),
    ("large", "256 MiB over gopher", "256 MiB over Gopher", FLOOR),
    ("large", "256 MiB over gemini", "256 MiB over Gemini", FLOOR),
    ("large", "256 MiB over http", "256 MiB over HTTP", {}),
    ("page", "10,000 pages of 1 KiB over gopher, 64 at a time",
     "10,000 pages over Gopher, 64 at a time", EACH),
    ("page", "10,000 pages of 1 KiB over gemini, 64 at a time",
     "10,000 pages over Gemini, 64 at a time", EACH),
    ("git", "one file of 10,000 over git://", "One file of a Git repository of 10,000",
     {"git": "git clone, git show"}),
]


def amount(value, unit):
    """A number as people read it: three digits, and the unit that fits."""
    if unit == "ms" and value >= 1000:
        value, unit = value / 1000, "s"
    if unit == "B" and value >= 1024:
        value, unit = value / 1024, "KiB"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return ("%.*f %s" % (digits, value, unit)).rstrip()


def rows(result, names, is_growth=False):
    """The bars of a comparison or of figures: name, part of the longest, text, whether it has a
    limit, whether a rival's. A limit is at the middle."""
    if "figures" in result:
        most = max(figure["value"] for figure in result["figures"]) or 1
        found = []
        for figure in result["figures"]:
            value, text = figure["value"], amount(figure["value"], figure["unit"])
            limit = figure.get("bar")
            if limit is not None:
                text += "  (at most %g)" % limit
            part = value / most if limit is None else min(1, value / limit / 2)
            found.append((figure["name"], part, text, limit is not None,
                          figure["name"] in ("curl", "git")))
        return found
    most = max(command["milliseconds"]["median"] for command in result["commands"])
    first = result["commands"][0]["milliseconds"]["median"]
    found = []
    for command in result["commands"]:
        median, name = command["milliseconds"]["median"], command["name"]
        text, part = amount(median, "ms"), median / most
        if is_growth:
            name = "{:,}".format(int(name))
            text += ", %.0f MiB" % (command["peak_kib"] / 1024)
            part = math.log1p(median) / math.log1p(most)
        elif "ratio" in command:
            # Of the medians that the bars show: that of the rounds' ratios can differ from it.
            text += "  (%.2f×)" % (median / first)
        found.append((names.get(name, name), part, text, False,
                      "ratio" in command and not is_growth))
    return found


def chart(title, groups, footer, theme):
    """An SVG chart of groups, each a heading and rows with a scale of their own."""
    window, _, border, _, plain, dim, _, red, _, _, blue, *_ = THEMES[theme]
    out = []
    y = MARGIN + 16
    out.append('<text x="%d" y="%d" class="t">%s</text>' % (MARGIN, y, escape(title)))
    for heading, bars in groups:
        y += GAP
        out.append('<text x="%d" y="%d" class="h">%s</text>' % (MARGIN, y, escape(heading)))
        y += 8
        for name, part, text, has_limit, is_rival in bars:
            length = max(1, LONGEST * part)
            out.append('<text x="%d" y="%d" text-anchor="end">%s</text>' % (
                LABELS, y + 14, escape(name)))
            out.append('<rect x="%d" y="%d" width="%.1f" height="14" rx="2" class="b%d"/>' % (
                LABELS + 8, y + 3, length, is_rival))
            if has_limit:
                out.append('<path d="M%.1f %d v18" class="l"/>' % (
                    LABELS + 8 + LONGEST / 2, y + 1))
                length = max(length, LONGEST / 2)
            out.append('<text x="%.1f" y="%d">%s</text>' % (
                LABELS + 8 + length + 6, y + 14, escape(text)))
            y += ROW
    for line in footer:
        y += 18 if line != footer[0] else 26
        out.append('<text x="%d" y="%d" class="d">%s</text>' % (MARGIN, y, escape(line)))
    height = y + MARGIN
    style = ("text{fill:%s;font:13px %s;white-space:pre}.t{font-size:15px;font-weight:600}"
             ".h{font-weight:600}.d{fill:%s;font-size:12px}.b0{fill:%s}.b1{fill:%s;opacity:.55}"
             ".l{stroke:%s;stroke-width:2}" % (plain, FONTS, dim, blue, dim, red))
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
        'role="img">' % (WIDTH, height, WIDTH, height),
        "<title>%s</title>" % escape(title), "<style>%s</style>" % style,
        '<rect x=".5" y=".5" width="%d" height="%d" rx="10" fill="%s" stroke="%s"/>' % (
            WIDTH - 1, height - 1, window, border)] + out + ["</svg>", ""])


def wrapped(text, columns=104):
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) >= columns:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def circumstances(data, cases):
    """Where and when cases were measured, and how."""
    return "%(cpu)s, %(cores)d cores, %(kernel)s; " % data["machine"] + "; ".join(
        sorted({case["date"] + ", " + case["note"] for case in cases}))


def picture(name, text):
    return ('<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="%s-dark.svg">\n'
            '  <img alt="%s" src="%s-light.svg">\n</picture>\n' % (name, escape(text), name))


def files(data):
    """What belongs into the directory: a text by name."""
    made = {}
    cases = data["cases"]
    listing = [
        "# Measured by `make bench`\n\nMedian times of many runs; a shorter bar is better. Each "
        "group has a scale of its own, that of `growth` a logarithmic one. In brackets: the time "
        "divided by that of the group's first command. `floor` and `epoll` are C programs that "
        "only send requests and take the replies, without checks and options: about the shortest "
        "time that can be expected. `floor-swift` is the same in Swift, and `empty` a Swift program "
        "that ends at once.\n\nA red line is the most that a figure may be. Figures under *what "
        "must hold* are medians of the ratios of each round, in which the commands take turns, so "
        "they can differ a little from the ratio of two median times. All numbers are in "
        "[results.json](results.json), where `ratio` is the first command's time divided by this "
        "one's.\n"]
    versions = data["versions"]
    against = "smallweb %(smallweb)s, curl %(curl)s, git %(git)s" % versions

    def add(name, title, groups, footer):
        for theme in THEMES:
            made["%s-%s.svg" % (name, theme)] = chart(title, groups, footer, theme)

    groups, used = [], []
    for case, title, heading, names in OVERVIEW:
        for result in cases.get(case, {}).get("results", []):
            if result["title"] == title:
                groups.append((heading, rows(result, names)))
                used.append(cases[case])
    if groups:
        footer = [line for text in CAPTION for line in wrapped(text)]
        footer += wrapped(against + ". " + circumstances(data, used))
        add("overview", "smallweb compared with others, servers on the same machine", groups, footer)
        listing.append(picture("overview", "smallweb compared with curl, git and C programs that "
                               "do the least possible"))
    for name, case in sorted(cases.items()):
        groups = [(result["title"], rows(result, {}, name == "growth"))
                  for result in case["results"]]
        add(name, "make bench: " + name, groups, wrapped(circumstances(data, [case])))
        listing.append("## %s\n\n%s" % (name, picture(name, "; ".join(
            result["title"] for result in case["results"]))))
    made["README.md"] = "\n".join(listing)
    return made


def main():
    is_check = sys.argv[1:2] == ["--check"]
    directory = sys.argv[-1]
    with open(directory + "/results.json", encoding="utf-8") as file:
        made = files(json.load(file))
    there = {name for name in os.listdir(directory) if re.search(r"\.svg$|^README\.md$", name)}
    wrong = there - set(made)
    for name, text in made.items():
        path = directory + "/" + name
        if is_check:
            if name not in there or open(path, encoding="utf-8").read() != text:
                wrong.add(name)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    if not is_check:
        for name in wrong:
            os.remove(directory + "/" + name)
    elif wrong:
        sys.exit("not ok - the charts show results.json: not %s; run %s %s" % (
            ", ".join(sorted(wrong)), sys.argv[0], directory))
    else:
        print("ok - the charts show results.json")


main()
