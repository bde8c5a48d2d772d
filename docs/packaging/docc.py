# SPDX-License-Identifier: MIT
"""The documentation of the library, by the toolchain's docc, from the modules of a debug build.

usage: docc.py BUILD DIRECTORY [--update]

The code of the articles must compile, each public name be a topic, and docc say nothing. The
public declarations must be those of docs/api, so that a change of them is seen in a diff.
"""

import difflib
import glob
import json
import os
import shutil
import subprocess
import sys

root = os.path.realpath(os.path.dirname(__file__) + "/../..")
build, target = map(os.path.realpath, sys.argv[1:3])
catalog = root + "/Sources/SmallWeb/SmallWeb.docc"
graphs = target + "/graphs"

# What `import SmallWeb` shows of other modules is documented as its own. The other modules are
# products; each has a page NAME.md in the catalog.
EXPORTED = ["SmallWebCore", "SmallWebPlugins", "SmallWebTransport"]
MODULES = ["SmallWeb", "SmallWebFormats", "SmallWebRecords", "SmallWebTesting"]

swift = shutil.which(os.environ.get("SWIFT", "swift"))
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
os.makedirs(graphs)
imports = set()
functions = [code(path) for path in sorted(glob.glob(catalog + "/*.md"))]
with open(target + "/pages.swift", "w") as file:
    file.write("\n".join([*sorted(imports), *functions]))
run(tools + "/swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors", *search,
    target + "/pages.swift")

info = json.loads(subprocess.check_output([tools + "/swiftc", "-print-target-info"]))
for module in MODULES:
    run(tools + "/swift-symbolgraph-extract", "-module-name", module, *search,
        "-target", info["target"]["triple"], "-minimum-access-level", "public",
        "-skip-synthesized-members", "-skip-inherited-docs", "-output-dir", graphs,
        *(["-experimental-allowed-reexported-modules=" + ",".join(EXPORTED)]
          if module == "SmallWeb" else []))
    page = open("%s/%s.md" % (catalog, module)).read()
    for symbol in json.load(open("%s/%s.symbols.json" % (graphs, module)))["symbols"]:
        name = symbol["pathComponents"][0]
        if "\n- ``%s``\n" % name not in page:
            sys.exit("%s.md: %s is not among the topics" % (module, name))

for module in MODULES:
    lines = set()
    for path in glob.glob("%s/%s.symbols.json" % (graphs, module)) + glob.glob(
            "%s/%s@*.symbols.json" % (graphs, module)):
        for symbol in json.load(open(path))["symbols"]:
            declaration = "".join(part["spelling"] for part in symbol["declarationFragments"])
            lines.add("%s: %s\n" % (".".join(symbol["pathComponents"]),
                                    " ".join(declaration.split())))
    name = "docs/api/%s.txt" % module
    if sys.argv[3:] == ["--update"]:
        open(root + "/" + name, "w").writelines(sorted(lines))
    elif changes := list(difflib.unified_diff(
            open(root + "/" + name).readlines(), sorted(lines), name, "the sources")):
        sys.exit("".join(changes) + "make api writes these declarations down")

# What a module adds to a type that is exported, it adds to SmallWeb's.
for exported in EXPORTED:
    for path in glob.glob("%s/*@%s.symbols.json" % (graphs, exported)):
        os.rename(path, path.replace("@" + exported, "@SmallWeb"))

run(tools + "/docc", "convert", catalog, "--additional-symbol-graph-dir", graphs,
    "--output-dir", target + "/html", "--warnings-as-errors")
print("ok - the code of the documentation compiles, and its pages name all that is public")
