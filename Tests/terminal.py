# SPDX-License-Identifier: MIT
"""Runs a command on a pseudo-terminal of 24 lines of 80 columns, between standard input and output, and ends
with its status. Reads until the terminal is closed, where script(1) waits 10 ms for the last output."""
import os
import pty
import sys

SIZED = 'stty rows 24 cols 80; exec "$@"'

status = os.waitstatus_to_exitcode(pty.spawn(['bash', '-c', SIZED, 'bash', *sys.argv[1:]]))
sys.exit(status if status >= 0 else 128 - status)
