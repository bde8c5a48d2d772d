# SPDX-License-Identifier: MIT
"""The manual and the documents as a web site: README.md is its landing page.

usage: web.py DIRECTORY

Pages lie where their sources lie in the repository, so relative links mean the same in both. What a
page links to comes along: documents as pages, directories as lists of what they hold, other files
as they are. Needs mandoc and cmark-gfm. Fails when links.py finds a link or anchor that is dead.
"""

import glob
import html
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import links

root = os.path.realpath(os.path.dirname(__file__) + "/../..")
LIBRARY = "Sources/SmallWeb/SmallWeb.docc"

# Where a picture belongs, and what it says to a reader who does not see it.
PICTURES = {
    "smallweb.1": ("completion", "TAB in zsh lists the commands, each with what it does"),
    "smallweb-get.1": ("progress", "a download with a bar, the amount, the rate and the time left"),
    "smallweb-open.1": ("open", "a Gemini page with numbered links, and their URLs at its end"),
    "smallweb-links.1": ("html", "an HTML page with a table, lists and numbered links"),
    "smallweb-crawl.1": ("crawl", "the broken links of a capsule, with page and line"),
    "smallweb-explain.1": ("explain", "where a fetch would connect to, and what it would send"),
    "smallweb-trust.1": ("changed-key", "a server whose key has changed is refused"),
}
SECTIONS = {"1": "Commands", "5": "Files and formats", "7": "Overviews"}
# The documents of those who use smallweb; all others are for those who change it.
FOR_USERS = ["json", "crawl", "scale", "proxies", "plugins", "wire", "SECURITY", "SHORTCOMINGS"]
MENU = [("Manual", "man/index.html"), ("Documents", "docs/index.html"),
        ("Library", LIBRARY + "/SmallWeb.html"), ("Changes", "CHANGELOG.html")]
STYLE = """
:root { color-scheme: light dark; --plain: light-dark(#1f2328, #e6edf3);
  --dim: light-dark(#59636e, #9198a1); --line: light-dark(#d1d9e0, #3d444d);
  --shade: light-dark(#f6f8fa, #151b23); --link: light-dark(#0969da, #58a6ff); }
body { margin: 0; color: var(--plain); background: light-dark(#fff, #0d1117);
  font: 1rem/1.55 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
header { border-bottom: 1px solid var(--line); background: var(--shade); }
header nav { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; }
header nav, main { max-width: 54rem; margin: 0 auto; padding: .7rem 1rem; }
header a:first-child { font-weight: 600; }
main { padding-bottom: 4rem; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; margin: 1rem 0; } h2 { font-size: 1.25rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
a.permalink { color: inherit; }
code, pre, .Li, .Bd, .Nm, .Fl, .Ar, .Pa, .Ev {
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .9em; }
code, pre { background: var(--shade); border-radius: 6px; } code { padding: .1em .3em; }
pre { overflow-x: auto; padding: .8rem 1rem; border: 1px solid var(--line); }
pre code, pre .Li { padding: 0; font-size: 1em; }
img { max-width: 100%; height: auto; }
.wide { overflow-x: auto; } .wide table { border-collapse: collapse; font-size: .92rem; }
.wide th, .wide td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left;
  vertical-align: top; }
.wide th { background: var(--shade); }
dt { margin-top: .5rem; } dd { margin-left: 2rem; }
table.Nm td { vertical-align: top; padding-right: .5rem; } table.head, table.foot { display: none; }
.Bd-indent { margin-left: 2rem; } .manual h1 { font-size: 1.25rem; margin-top: 1.6rem; }
"""


def relative(target, page):
    return os.path.relpath(target, os.path.dirname(page) or ".")


def picture(name, text):
    return ('<p><picture><source media="(prefers-color-scheme: dark)" '
            'srcset="../docs/pictures/%s-dark.svg"><img alt="%s" '
            'src="../docs/pictures/%s-light.svg"></picture></p>' % (name, html.escape(text), name))


class Site:
    """The pages that have been made, by their place in the site, and what is to come."""

    def __init__(self, target):
        self.target, self.made, self.waiting = target, set(), []

    def write(self, page, title, body, kind=""):
        menu = "\n".join('<a href="%s">%s</a>' % (relative(to, page), name)
                         for name, to in [("smallweb", "index.html")] + MENU)
        text = ('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
                '<meta name="viewport" content="width=device-width">\n<title>%s</title>\n'
                '<link rel="stylesheet" href="%s">\n</head>\n<body>\n<header><nav>\n%s\n</nav>'
                '</header>\n<main class="%s">\n%s\n</main>\n</body>\n</html>\n' % (
                    html.escape(title), relative("style.css", page), menu, kind, body))
        path = self.target + "/" + page
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def page_of(self, source):
        """Where the page of a file or directory of the repository is; asks for it to be made."""
        page = source
        if os.path.isdir(root + "/" + source):
            page += "/index.html"
        elif source == "README.md":
            page = "index.html"
        elif source.endswith("/README.md"):
            page = source[:-len("README.md")] + "index.html"
        elif source.endswith(".md"):
            page = source[:-len("md")] + "html"
        if page not in self.made:
            self.made.add(page)
            self.waiting.append((source, page))
        return page

    def linked(self, text, source, page):
        """HTML with its links to the repository made links to pages; what does not exist stays, for
        links.py to find."""
        def replace(match):
            attribute, link = match[1], html.unescape(match[2])
            path, mark, anchor = link.partition("#")
            if not path or re.match(r"[a-z][a-z0-9+.-]*:", link, re.I):
                return match[0]
            there = os.path.normpath(os.path.join(os.path.dirname(source), path))
            if there.startswith("..") or not os.path.exists(root + "/" + there):
                return match[0]
            return '%s="%s"' % (attribute, html.escape(
                relative(self.page_of(there), page) + mark + anchor))

        return re.sub(r'\b(href|src|srcset)="([^"]*)"', replace, text)

    def document(self, source, page):
        text = read(source)
        in_library = os.path.dirname(source) == LIBRARY
        if in_library:
            # DocC's links: to symbols, whose names stay, and to articles.
            text = re.sub(r"``(?:/\w+/)?([^`]+)``", lambda name: "`%s`" % name[1].replace(
                "/", "."), text)
            text = re.sub(r"<doc:(\w+)>", lambda name: "[%s](%s.md)" % (
                title_of("%s/%s.md" % (LIBRARY, name[1])), name[1]), text)
        body = subprocess.run(
            ["cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough", "-e", "autolink"],
            input=text.encode(), check=True, stdout=subprocess.PIPE).stdout.decode()
        body = anchored(self.linked(body, source, page))
        body = re.sub(r"<code>(smallweb[\w-]*)\((\d)\)</code>", lambda name: '<a href="%s">%s</a>'
                      % (relative("man/%s.%s.html" % (name[1], name[2]), page), name[0]), body)
        body = body.replace("<table>", '<div class="wide"><table>').replace(
            "</table>", "</table></div>")
        self.write(page, title_of(source), body)

    def directory(self, source, page):
        """A list of the documents of a directory, or what its files hold."""
        # Without .build of an example that was built.
        files = sorted(os.path.relpath(path, root) for path in glob.glob(
            "%s/%s/**" % (root, source), recursive=True)
            if os.path.isfile(path) and is_text(path))
        documents = sorted((name for name in files if name.endswith(".md")),
                           key=lambda name: (name.count("/"), name))
        if documents:
            self.write(page, source, "<h1>%s</h1>\n" % source + self.listed(documents, page))
            return
        body = "<h1>%s</h1>\n<ul>\n" % source
        for name in files:
            body += '<li><a href="#%s">%s</a></li>\n' % (name, name[len(source) + 1:])
        body += "</ul>\n"
        for name in files:
            body += '<h2 id="%s">%s</h2>\n<pre>%s</pre>\n' % (
                name, name[len(source) + 1:], html.escape(read(name)))
        self.write(page, source, body)

    def listed(self, documents, page):
        lines = ['<li><a href="%s">%s</a></li>' % (
            relative(self.page_of(name), page), html.escape(title_of(name)))
            for name in documents]
        return "<ul>\n%s\n</ul>" % "\n".join(lines)

    def manual(self):
        sources = {os.path.basename(path): path for path in glob.glob(root + "/man/*.[157]")}
        listing = "<h1>Manual</h1>\n"
        for section, title in SECTIONS.items():
            listing += '<h2 id="section-%s">%s</h2>\n<dl>\n' % (section, title)
            for name, path in sorted(sources.items()):
                if not name.endswith("." + section):
                    continue
                page = subprocess.run(
                    ["mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", path],
                    check=True, stdout=subprocess.PIPE).stdout.decode()
                # Manuals of other programs are not here.
                page = re.sub(r'<a class="Xr" href="([^"]*)\.html">([^<]*)</a>',
                              lambda link: link[0] if link[1] in sources else link[2], page)
                if name in PICTURES:
                    # After the first paragraph of the description.
                    description = page.index('id="DESCRIPTION"')
                    end = page.index("</p>", description) + len("</p>")
                    page = page[:end] + "\n" + picture(*PICTURES[name]) + page[end:]
                self.write("man/%s.html" % name, "%s(%s)" % tuple(name.rsplit(".", 1)), page,
                           "manual")
                about = re.search(r"^\.Nd (.*)$", read("man/" + name), re.M)[1]
                listing += '<dt><a href="%s.html">%s(%s)</a></dt>\n<dd>%s</dd>\n' % (
                    name, *name.rsplit(".", 1), html.escape(about.replace("\\(aq", "'")))
            listing += "</dl>\n"
        self.write("man/index.html", "smallweb: manual", listing)

    def make(self):
        self.manual()
        use = ["docs/%s.md" % name for name in FOR_USERS]
        change = sorted(set(glob.glob("docs/*.md", root_dir=root)) - set(use))
        decisions = sorted(glob.glob("docs/decisions/*.md", root_dir=root))
        use += ["docs/bench/README.md", "docs/examples/clients", "docs/examples/plugins"]
        body = "<h1>Documents</h1>\n"
        for anchor, title, documents in [("use", "Using smallweb", use),
                                         ("change", "Changing smallweb", change),
                                         ("decisions", "Decisions", decisions)]:
            body += '<h2 id="%s">%s</h2>\n%s\n' % (
                anchor, title, self.listed(documents, "docs/index.html"))
        self.write("docs/index.html", "smallweb: documents", body)
        self.made.add("docs/index.html")
        for source in ("README.md", "CHANGELOG.md", LIBRARY + "/SmallWeb.md"):
            self.page_of(source)
        shutil.copytree(root + "/docs/pictures", self.target + "/docs/pictures")
        while self.waiting:
            source, page = self.waiting.pop()
            if os.path.isdir(root + "/" + source):
                self.directory(source, page)
            elif source.endswith(".md"):
                self.document(source, page)
            else:
                os.makedirs(os.path.dirname(self.target + "/" + page), exist_ok=True)
                shutil.copyfile(root + "/" + source, self.target + "/" + page)
        with open(self.target + "/style.css", "w", encoding="utf-8") as file:
            file.write(STYLE.lstrip())


def is_text(path):
    with open(path, "rb") as file:
        return b"\0" not in file.read(1024)


def read(source):
    with open(root + "/" + source, encoding="utf-8") as file:
        return file.read()


def title_of(source):
    if os.path.isdir(root + "/" + source):
        return source
    heading = re.search(r"^# (.*)$", read(source), re.M)
    return re.sub("`", "", heading[1]) if heading else source


def anchored(body):
    """Headings with the anchors that GitHub gives them."""
    seen = {}

    def replace(match):
        text = html.unescape(re.sub(r"<[^>]*>", "", match[2]))
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        seen[name] = seen.get(name, -1) + 1
        if seen[name]:
            name += "-%d" % seen[name]
        return '<h%s id="%s">%s</h%s>' % (match[1], html.escape(name), match[2], match[1])

    return re.sub(r"<h([1-6])>(.*?)</h\1>", replace, body, flags=re.S)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: web.py DIRECTORY")
    target = sys.argv[1]
    for program in ("mandoc", "cmark-gfm"):
        if not shutil.which(program):
            sys.exit("cannot make the site: %s is not installed" % program)
    # Pages whose sources are gone go, too; only a directory that this has made is emptied.
    if os.path.exists(target + "/style.css"):
        shutil.rmtree(target)
    os.makedirs(target, exist_ok=True)
    Site(target).make()
    sys.exit(links.report(target))
