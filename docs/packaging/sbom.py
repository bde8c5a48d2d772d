# SPDX-License-Identifier: MIT
"""Lists what is in the release binary, and what it loads, as SPDX 2.3 in JSON.

usage: sbom.py SMALLWEB TARBALL FILE
SMALLWEB has its symbols; these, its notes and its strings say what it consists of. What is found
there and not named here is an error. The time is SOURCE_DATE_EPOCH.
"""

import datetime
import hashlib
import json
import os
import re
import subprocess
import sys

binary, tarball, target = sys.argv[1:]


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


symbols = output("nm", "--defined-only", binary)
# Release builds of Swift say "Swift version 6.3.1 (swift-6.3.1-RELEASE)".
swift = re.search(r"Swift version ([\d.]+)", output(*os.environ.get("SWIFT", "swift").split(), "--version"))[1]
gcc = re.search(r"GCC: \(.*?\) ([\d.]+)", output("readelf", "-p", ".comment", binary))[1]
smallweb = output(binary, "--version").split()[1]
apache = "Apache-2.0 WITH Swift-exception"
exception = "GPL-3.0-or-later WITH GCC-exception-3.1"
swift_source = f"https://github.com/swiftlang/%s/archive/refs/tags/swift-{swift}-RELEASE.tar.gz"
gcc_source = f"https://ftp.gnu.org/gnu/gcc/gcc-{gcc}/gcc-{gcc}.tar.xz"
# What can be linked into it: a symbol of it, name, version, licence, who makes it, sources.
LINKED = [
    (r" swift_retain$", "swift-runtime", swift, apache, "Swift project", swift_source % "swift"),
    (r" dispatch_async$", "libdispatch", swift, "Apache-2.0", "Swift project",
     swift_source % "swift-corelibs-libdispatch"),
    (r"FoundationEssentials", "swift-foundation", swift, apache, "Swift project",
     swift_source % "swift-foundation"),
    (r" _ZNSt\w+", "libstdc++", gcc, exception, "Free Software Foundation", gcc_source),
    (r" _Unwind_RaiseException$", "libgcc", gcc, exception, "Free Software Foundation",
     gcc_source),
]
# What it loads: soname, name, licence, who makes it, what it is needed for.
GLIBC = ("glibc", "LGPL-2.1-or-later", "GNU C Library project", "every command")
LOADED = {
    "libc.so.6": GLIBC, "libm.so.6": GLIBC, "ld-linux-x86-64.so.2": GLIBC,
    "ld-linux-aarch64.so.1": GLIBC,
    "libssl.so.3": ("openssl", "Apache-2.0", "OpenSSL project", "schemes over TLS"),
    "libcrypto.so.3": ("openssl", "Apache-2.0", "OpenSSL project", "keys, and files of Git"),
    "libssl.so.4": ("openssl", "Apache-2.0", "OpenSSL project", "schemes over TLS, without 3"),
    "libcrypto.so.4": ("openssl", "Apache-2.0", "OpenSSL project", "keys, and files of Git, without 3"),
    "libcurl.so.4": ("curl", "curl", "curl project", "HTTP"),
    "libcurl-gnutls.so.4": ("curl", "curl", "curl project", "HTTP where the other is missing"),
    "libz.so.1": ("zlib", "Zlib", "Jean-loup Gailly and Mark Adler", "files of Git"),
    "libidn2.so.0": ("libidn2", "LGPL-3.0-or-later OR GPL-2.0-or-later", "libidn2 project",
                     "international host names"),
}
needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", binary))
opened = sorted(set(re.findall(r"(?m)^lib[\w+-]+\.so\.\d+$", output("strings", "-a", binary)))
                - set(needed))


def package(name, version, licence, supplier, source, **more):
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", name), "name": name,
        **({"versionInfo": version} if version else {}),
        "supplier": f"Organization: {supplier}", "downloadLocation": source,
        "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
        "copyrightText": "NOASSERTION", **more}


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


with open(tarball, "rb") as file:
    digest = hashlib.sha256(file.read()).hexdigest()
packages = [package(
    "smallweb", smallweb, "MIT", "The smallweb maintainers", "NOASSERTION",
    packageFileName=os.path.basename(tarball), primaryPackagePurpose="APPLICATION",
    checksums=[{"algorithm": "SHA256", "checksumValue": digest}])]
main = packages[0]["SPDXID"]
relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", main)]
for pattern, *facts in LINKED:
    if re.search(pattern, symbols, re.MULTILINE):
        packages.append(package(*facts))
        relations.append(relation(main, "STATIC_LINK", packages[-1]["SPDXID"]))
for soname in needed + opened:
    if soname not in LOADED:
        sys.exit(f"sbom.py: {binary} loads {soname}, which is not known here")
loaded = {LOADED[soname][:3] for soname in needed + opened}
for name, licence, supplier in sorted(loaded):
    sonames = {soname: LOADED[soname][3] for soname in needed + opened
               if LOADED[soname][0] == name}
    when = "loaded with the program" if set(sonames) & set(needed) else "opened when first needed"
    uses = ", ".join(f"{soname} for {use}" for soname, use in sonames.items())
    packages.append(package(
        name, None, licence, supplier, "NOASSERTION",
        comment=f"Not part of the package: the library of the system, {when}: {uses}."))
    relations.append(
        relation(main, "DYNAMIC_LINK", packages[-1]["SPDXID"]) if set(sonames) & set(needed)
        else relation(packages[-1]["SPDXID"], "RUNTIME_DEPENDENCY_OF", main))
time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
with open(target, "w", encoding="utf-8") as file:
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": os.path.basename(tarball).removesuffix(".tar.gz"),
        "documentNamespace": f"https://spdx.org/spdxdocs/smallweb-{smallweb}-{digest}",
        "creationInfo": {"created": f"{time:%Y-%m-%dT%H:%M:%SZ}",
                         "creators": ["Organization: The smallweb maintainers",
                                      f"Tool: smallweb-sbom-{smallweb}"]},
        "packages": packages, "relationships": relations}, file, indent=2)
    file.write("\n")
