# SPDX-License-Identifier: MIT
"""Puts what a run of one case has measured into results.json.

usage: results.py DIRECTORY FIGURES SMALLWEB NOTE

FIGURES has a line of JSON per comparison (from ratio.c) or computed figure (from run.sh). Other
cases keep what they had, unless it was measured on another processor or the case is gone.
"""

import datetime
import json
import os
import platform
import re
import subprocess
import sys


def first_line(*command):
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return run.stdout.decode().split("\n")[0]


def machine():
    """What the figures depend on, and nothing that tells whose machine it is."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"^model name\s*: (.*)$", file.read(), re.M)
    return {"cpu": model[1].strip() if model else platform.machine(),
            "cores": len(os.sched_getaffinity(0)), "kernel": "Linux " + platform.release()}


def grouped(lines):
    """Comparisons as they are; figures of one title together."""
    found, by_title = [], {}
    for line in lines:
        entry = json.loads(line)
        del entry["case"]
        if "commands" in entry:
            found.append(entry)
            continue
        title = entry.pop("title")
        if title not in by_title:
            by_title[title] = {"title": title, "figures": []}
            found.append(by_title[title])
        by_title[title]["figures"].append(entry)
    return found


def main():
    directory, figures, smallweb, note = sys.argv[1:]
    path = directory + "/results.json"
    with open(figures, encoding="utf-8") as file:
        lines = file.readlines()
    if not lines:
        return  # It was skipped.
    case = json.loads(lines[0])["case"]
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    here = machine()
    cases = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            before = json.load(file)
        cases = before["cases"]
        if any(before["machine"][key] != here[key] for key in ("cpu", "cores")):
            print("results.py: %s was of another processor, and begins again" % path,
                  file=sys.stderr)
            cases = {}
    cases = {name: known for name, known in cases.items()
             if os.path.exists("%s/cases/%s.sh" % (os.path.dirname(__file__), name))}
    cases[case] = {"date": today, "note": note, "results": grouped(lines)}
    all_of_it = {
        "v": 1,
        "date": today,
        "note": note,
        "machine": here,
        "versions": {"smallweb": first_line(smallweb, "--version").split()[1],
                     "curl": first_line("curl", "--version").split()[1],
                     "git": first_line("git", "--version").split()[2]},
        "cases": cases,
    }
    os.makedirs(directory, exist_ok=True)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(all_of_it, file, indent=1, ensure_ascii=False)
        file.write("\n")
    os.replace(path + ".part", path)


if __name__ == "__main__":
    main()
