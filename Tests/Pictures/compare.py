# SPDX-License-Identifier: MIT
"""Whether two directories have the same pictures, colours and the pace of a download apart.

usage: compare.py COMMITTED MADE
"""

import os
import re
import sys

from svg import texts

committed, made = sys.argv[1:3]


def said(path):
    pace = re.compile(r"[\d.]+ [KM]?i?B/s, \d+:\d\d left")
    return [(x, y, pace.sub("", text)) for x, y, text in texts(path)]


def pictures(directory):
    return sorted(name for name in os.listdir(directory) if name.endswith(".svg"))


problems = 0
if pictures(committed) != pictures(made):
    problems += 1
    print("the pictures are %s, not %s" % (pictures(committed), pictures(made)))
for name in set(pictures(committed)) & set(pictures(made)):
    before, now = said(committed + "/" + name), said(made + "/" + name)
    if before == now:
        continue
    problems += 1
    print(name + " does not show what smallweb says:")
    for mark, lines, others in (("-", before, now), ("+", now, before)):
        for line in lines:
            if line not in others:
                print("    %s %s" % (mark, line[2]))
if problems:
    sys.exit("make pictures, and look at them")
