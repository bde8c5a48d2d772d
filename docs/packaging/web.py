# SPDX-License-Identifier: MIT
"""The manual as web pages, with the pictures of docs/pictures, from man/ by mandoc.

usage: web.py DIRECTORY
"""

import glob
import html
import os
import re
import shutil
import subprocess
import sys

root = os.path.realpath(os.path.dirname(__file__) + "/../..")
target = sys.argv[1]

# Where a picture belongs, and what it says to a reader who does not see it.
PICTURES = {
    "smallweb.1": ("completion", "TAB in zsh lists the commands, each with what it does"),
    "smallweb-get.1": ("progress", "a download with a bar, the amount, the rate and the time left"),
    "smallweb-open.1": ("open", "a Gemini page with numbered links, and their URLs at its end"),
    "smallweb-explain.1": ("explain", "where a fetch would connect to, and what it would send"),
    "smallweb-trust.1": ("changed-key", "a server whose key has changed is refused"),
}
STYLE = """
:root { color-scheme: light dark; }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
code, pre, .Li, .Bd { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .92em; }
h1 { font-size: 1.2rem; } h2 { font-size: 1.05rem; }
a { color: light-dark(#0969da, #58a6ff); } a.permalink { color: inherit; text-decoration: none; }
pre { overflow-x: auto; } img { max-width: 100%; }
.Bd-indent { margin-left: 2rem; } table.head, table.foot { width: 100%; }
.head-vol, .foot-date { text-align: center; } .head-rtitle, .foot-os { text-align: right; }
"""


def picture(name, text):
    return ('<p><picture><source media="(prefers-color-scheme: dark)" '
            'srcset="pictures/%s-dark.svg"><img alt="%s" src="pictures/%s-light.svg"></picture></p>'
            % (name, html.escape(text), name))


os.makedirs(target, exist_ok=True)
pages = {os.path.basename(path): path for path in glob.glob(root + "/man/*.[157]")}
for name, path in pages.items():
    page = subprocess.run(["mandoc", "-T", "html", "-O", "man=%N.%S.html,style=manual.css", path],
                          check=True, stdout=subprocess.PIPE).stdout.decode()
    # Manuals of other programs are not here.
    page = re.sub(r'<a class="Xr" href="([^"]*)\.html">([^<]*)</a>',
                  lambda link: link[0] if link[1] in pages else link[2], page)
    page = page.replace("<head>", '<head>\n  <meta name="viewport" content="width=device-width">', 1)
    if name in PICTURES:
        # After the first paragraph of the description.
        description = page.index('id="DESCRIPTION"')
        end = page.index("</p>", description) + len("</p>")
        page = page[:end] + "\n" + picture(*PICTURES[name]) + page[end:]
    with open("%s/%s.html" % (target, name), "w", encoding="utf-8") as file:
        file.write(page)
shutil.copy(target + "/smallweb.1.html", target + "/index.html")
shutil.copytree(root + "/docs/pictures", target + "/pictures", dirs_exist_ok=True)
with open(target + "/manual.css", "w", encoding="utf-8") as file:
    file.write(STYLE.lstrip())
