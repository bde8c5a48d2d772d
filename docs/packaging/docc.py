# SPDX-License-Identifier: MIT
"""The documentation of the library, by the toolchain's docc, from the modules of a debug build.

usage: docc.py BUILD DIRECTORY [--update]

Each target of .spi.yml is documented as the Swift Package Index does it: from its own symbols and its
own catalog alone, so a link to another module's symbol leads nowhere. The code of the articles must
compile, each public name be a topic, each case of an enumeration have a comment, and docc say nothing.
The public declarations must be those of docs/api, so that a change of them is seen in a diff.
DIRECTORY/html has all of them in one.
"""

import difflib
import glob
import json
import os
import re
import shutil
import subprocess
import sys

root = os.path.realpath(os.path.dirname(__file__) + "/../..")
build, target = map(os.path.realpath, sys.argv[1:3])
with open(root + "/.spi.yml") as file:
    MODULES = re.search(r"documentation_targets: \[(.*)\]", file.read())[1].split(", ")

swift = shutil.which(os.environ.get("SWIFT", "swift").split()[0])
tools = os.path.dirname(os.path.realpath(swift))
search = ["-I", build + "/Modules"]
for path in glob.glob(root + "/Sources/C*"):
    search += ["-Xcc", "-fmodule-map-file=%s/%s.build/module.modulemap"
               % (build, os.path.basename(path))]


def run(*words):
    if subprocess.run(words).returncode != 0:
        sys.exit(1)


def code(path):
    """The code of a page as one function, each line where it is in the page."""
    name = os.path.basename(path).removesuffix(".md")
    lines, is_code = ["func page%s() async throws {" % name], False
    for line in open(path).read().splitlines()[1:]:
        if line.startswith("```"):
            is_code = line == "```swift"
            line = ""
        if is_code and line.startswith("import "):
            imports.add(line)
            line = ""
        lines.append(line if is_code else "")
    return "\n".join(['#sourceLocation(file: "%s", line: 1)' % path, *lines, "}",
                      "#sourceLocation()", ""])


shutil.rmtree(target, ignore_errors=True)
os.makedirs(target)
imports = set()
catalogs = ["%s/Sources/%s/%s.docc" % (root, module, module) for module in MODULES]
functions = [code(path) for catalog in catalogs for path in sorted(glob.glob(catalog + "/*.md"))]
with open(target + "/pages.swift", "w") as file:
    file.write("\n".join([*sorted(imports), *functions]))
run(tools + "/swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors", *search,
    target + "/pages.swift")

info = json.loads(subprocess.check_output([tools + "/swiftc", "-print-target-info"]))
for module, catalog in zip(MODULES, catalogs):
    graphs = "%s/%s" % (target, module)
    os.makedirs(graphs)
    # The options of swift-docc-plugin, which has no others.
    run(tools + "/swift-symbolgraph-extract", "-module-name", module, *search,
        "-target", info["target"]["triple"], "-minimum-access-level", "public",
        "-emit-extension-block-symbols", "-output-dir", graphs)
    page = open("%s/%s.md" % (catalog, module)).read()
    for symbol in json.load(open("%s/%s.symbols.json" % (graphs, module)))["symbols"]:
        name = symbol["pathComponents"][0]
        if "\n- ``%s``\n" % name not in page:
            sys.exit("%s.md: %s is not among the topics" % (module, name))
        if symbol["kind"]["identifier"] == "swift.enum.case" and "docComment" not in symbol:
            sys.exit("%s: no comment says what it is" % ".".join(symbol["pathComponents"]))
    run(tools + "/docc", "convert", catalog, "--fallback-display-name", module,
        "--fallback-bundle-identifier", module, "--additional-symbol-graph-dir", graphs,
        "--output-dir", graphs + ".doccarchive", "--warnings-as-errors")
    lines = set()
    for path in glob.glob(graphs + "/*.symbols.json"):
        for symbol in json.load(open(path))["symbols"]:
            if "::SYNTHESIZED::" not in symbol["identifier"]["precise"]:
                declaration = "".join(part["spelling"] for part in symbol["declarationFragments"])
                lines.add("%s: %s\n" % (".".join(symbol["pathComponents"]),
                                        " ".join(declaration.split())))
    name = "%s/docs/api/%s.txt" % (root, module)
    if sys.argv[3:] == ["--update"]:
        open(name, "w").writelines(sorted(lines))
    elif changes := list(difflib.unified_diff(
            open(name).readlines(), sorted(lines), name, "the sources")):
        sys.exit("".join(changes) + "make api writes these declarations down")
run(tools + "/docc", "merge", *["%s/%s.doccarchive" % (target, module) for module in MODULES],
    "--synthesized-landing-page-name", "smallweb", "--output-path", target + "/html")
print("ok - the code of the documentation compiles, and its pages name all that is public")
