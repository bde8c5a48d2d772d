# SPDX-License-Identifier: MIT
"""Reads metrics in Prometheus' text format.

usage: metrics.py FILE SAMPLE=VALUE…
Fails when a line has another form, a metric lacks its help or its type before its samples, or comes in
two places, a sample comes twice, or one that is named here has another value.
"""

import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
path, *wanted = sys.argv[1:]
with open(path, encoding="utf-8", newline="") as file:
    text = file.read()
assert text.endswith("\n") and "\r" not in text, "the last line has no end"
metrics, samples = [], {}
for line in text.splitlines():
    if match := re.fullmatch(r"# HELP (%s) \S.*" % NAME, line):
        assert match[1] not in metrics, line
        metrics.append(match[1])
        is_typed = False
    elif match := re.fullmatch(r"# TYPE (%s) (counter|gauge)" % NAME, line):
        assert metrics[-1:] == [match[1]] and not is_typed, line
        is_typed = True
    else:
        match = re.fullmatch(r"((%s)(?:\{%s(?:,%s)*\})?) (\S+)" % (NAME, LABEL, LABEL), line)
        assert match and metrics[-1:] == [match[2]] and is_typed, line
        assert match[1] not in samples, line
        samples[match[1]] = float(match[3])
for sample in wanted:
    name, _, value = sample.rpartition("=")
    assert samples.get(name) == float(value), (name, samples)
