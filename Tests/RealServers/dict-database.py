# SPDX-License-Identifier: MIT
"""A database of dictd with two words: dict-database.py NAME writes NAME.dict and NAME.index."""
import pathlib
import string
import sys

DIGITS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
ENTRIES = {"00databaseshort": "tests\n", "apple": "apple\n  a fruit\n", "gemini": "gemini\n  twins\n"}


def number(value):
    rest = value // 64
    return (number(rest) if rest else "") + DIGITS[value % 64]


text, index = "", ""
for word, entry in ENTRIES.items():
    index += f"{word}\t{number(len(text))}\t{number(len(entry))}\n"
    text += entry
pathlib.Path(sys.argv[1] + ".dict").write_text(text)
pathlib.Path(sys.argv[1] + ".index").write_text(index)
