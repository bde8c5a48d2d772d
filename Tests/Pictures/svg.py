# SPDX-License-Identifier: MIT
"""A terminal's screen, as `tmux capture-pane -e -p` prints it, as an SVG picture."""

import re
import unicodedata
from html import escape
from xml.etree import ElementTree

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE = 8.4, 19, 14
MARGIN, BAR_HEIGHT = 18, 36
FONTS = ("ui-monospace, 'SF Mono', 'Cascadia Mono', 'Segoe UI Mono', Menlo, Consolas, "
         "'DejaVu Sans Mono', 'Liberation Mono', monospace")

# Window, bar, border, title, text, dim text, then black, red, green, yellow, blue, magenta, cyan,
# white.
THEMES = {
    "light": ["#ffffff", "#f6f8fa", "#d0d7de", "#57606a", "#24292f", "#6e7781", "#24292f", "#cf222e",
              "#116329", "#7d4e00", "#0969da", "#8250df", "#1b7c83", "#6e7781"],
    "dark": ["#0d1117", "#161b22", "#30363d", "#8b949e", "#e6edf3", "#8b949e", "#484f58", "#ff7b72",
             "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4"],
}
BUTTONS = ["#ff5f57", "#febc2e", "#28c840"]


class Style:
    """What the escape sequences so far make of the next character."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.marks = set()
        self.colour = self.background = None

    def apply(self, parameters):
        codes = [int(code or 0) for code in parameters.split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.reset()
            elif code in (1, 2, 3, 4, 7):
                self.marks.add("-bdiu--r"[code])
            elif code in (22, 23, 24, 27):
                self.marks -= {22: {"b", "d"}, 23: {"i"}, 24: {"u"}, 27: {"r"}}[code]
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.colour = code % 10
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.background = code % 10
            elif code == 39:
                self.colour = None
            elif code == 49:
                self.background = None
            elif code in (38, 48):
                # One of 256 colours, of which the first are those above; or red, green, blue.
                number = codes[1] if codes[:1] == [5] else None
                del codes[:2 if number is not None else 4]
                if number is not None and number < 16:
                    if code == 38:
                        self.colour = number % 8
                    else:
                        self.background = number % 8

    def classes(self):
        names = sorted(self.marks)
        if self.colour is not None:
            names.append("c%d" % self.colour)
        if self.background is not None:
            names.append("g%d" % self.background)
        return tuple(names)


def width(character):
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def runs(line, style):
    """The line's pieces of one style: the first column, the number of columns, text, classes."""
    found = []
    column = 0
    # Hyperlinks and other strings (OSC) draw nothing; of CSI, only SGR is in a captured screen.
    line = re.sub("\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)|\x1b[()].|[\x0e\x0f]", "", line)
    for part in re.split("(\x1b\\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            style.apply(part[2:-1])
            continue
        for character in part:
            columns, classes = width(character), style.classes()
            if found and found[-1][3] == classes:
                found[-1][1] += columns
                found[-1][2] += character
            else:
                found.append([column, columns, character, classes])
            column += columns
    return found


def split_at_gaps(run):
    """Without the blanks at both ends, and as several where there are gaps: a run is stretched to
    its columns as a whole, which would move its words if a browser's blanks had another width."""
    column, _, text, classes = run
    for match in re.finditer(r"\S+(?: \S+)*", text):
        before = sum(map(width, text[:match.start()]))
        yield column + before, sum(map(width, match[0])), match[0], classes


def picture(screen, columns, title, theme):
    """An SVG picture of the screen's lines, without the blank ones at its end."""
    lines = screen.rstrip("\n ").split("\n")
    window, bar, border, faint, plain, dim, *palette = THEMES[theme]
    total_width = columns * CELL_WIDTH + 2 * MARGIN
    total_height = len(lines) * CELL_HEIGHT + BAR_HEIGHT + 2 * MARGIN
    size = 'width="%g" height="%g"' % (total_width, total_height)
    rules = ["text{fill:%s;font:%dpx %s;white-space:pre}" % (plain, FONT_SIZE, FONTS),
             ".b{font-weight:bold}.i{font-style:italic}.u{text-decoration:underline}",
             ".d{fill:%s}.r{fill:%s}" % (dim, window)]
    rules += [".c%d{fill:%s}" % pair for pair in enumerate(palette)]
    out = ['<svg xmlns="http://www.w3.org/2000/svg" %s viewBox="0 0 %g %g" role="img">' % (
               size, total_width, total_height),
           "<title>%s</title>" % escape(title),
           "<style>%s</style>" % "".join(rules),
           '<rect x=".5" y=".5" width="%g" height="%g" rx="10" fill="%s" stroke="%s"/>' % (
               total_width - 1, total_height - 1, window, border),
           '<path d="M1 %d V10 A9 9 0 0 1 10 1 H%g A9 9 0 0 1 %g 10 V%d Z" fill="%s"/>' % (
               BAR_HEIGHT, total_width - 10, total_width - 1, BAR_HEIGHT, bar),
           '<path d="M1 %d.5 H%g" stroke="%s"/>' % (BAR_HEIGHT, total_width - 1, border)]
    for number, colour in enumerate(BUTTONS):
        out.append('<circle cx="%d" cy="18.5" r="6" fill="%s"/>' % (22 + 20 * number, colour))
    out.append('<g text-anchor="middle"><text x="%g" y="23" style="fill:%s">%s</text></g>' % (
        total_width / 2, faint, escape(title)))
    style = Style()
    for row, line in enumerate(lines):
        top = BAR_HEIGHT + MARGIN + row * CELL_HEIGHT
        for run in runs(line, style):
            out += backgrounds(run, top, palette, plain)
            for column, columns_taken, text, classes in split_at_gaps(run):
                names = " ".join(name for name in classes if name[0] != "g")
                out.append('<text x="%g" y="%g" textLength="%g" lengthAdjust="spacingAndGlyphs"%s>'
                           "%s</text>" % (
                               round(MARGIN + column * CELL_WIDTH, 1), top + 14,
                               round(columns_taken * CELL_WIDTH, 1),
                               ' class="%s"' % names if names else "", escape(text, quote=False)))
    return "\n".join(out + ["</svg>", ""])


def backgrounds(run, top, palette, plain):
    column, columns, _, classes = run
    fill = plain if "r" in classes else None
    for name in classes:
        if name[0] == "g":
            fill = palette[int(name[1])]
    if fill:
        yield '<rect x="%g" y="%g" width="%g" height="%d" fill="%s"/>' % (
            round(MARGIN + column * CELL_WIDTH, 1), top, round(columns * CELL_WIDTH, 1), CELL_HEIGHT,
            fill)


def texts(path):
    """What a picture says: a place and a text for each piece."""
    elements = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
    return [(element.get("x"), element.get("y"), element.text) for element in elements
            if element.get("textLength")]
