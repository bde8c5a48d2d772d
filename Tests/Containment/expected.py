# SPDX-License-Identifier: MIT
"""What a plugin's program may do in which mode, and how attempts make the rows of a table.

An attempt is named GROUP/NAME, or GROUP/NAME@PLACE where it was made in the home directory (home),
in XDG_DATA_HOME elsewhere (data), in another directory (other), in the plugin's own (folder) and
in one that its manifest names (reads).
"""

import fnmatch

# What is missing in each mode, as the words of `without`; whether smallweb runs as root; and how many
# programs it has started before. From the second on, a starter makes them.
MODES = {
    "full": ([], False, 0),
    "later": ([], False, 2),
    "no namespaces": (["users"], False, 0),
    "no Landlock": (["landlock"], False, 0),
    "neither": (["users", "landlock"], False, 0),
    "root": ([], True, 0),
    "root, later": ([], True, 2),
}

# Everything else must be refused in every mode. A filter of system calls sees no paths: where
# there are neither namespaces nor Landlock, what is opened or removed by its name can be.
# Landlock does not hide names.
ALLOWED = [
    ("contents/*", {"neither"}),
    ("sights/*", {"neither"}),
    ("looks/*", {"neither"}),
    ("sights/stat@*", {"no namespaces"}),
    ("sights/access@*", {"no namespaces"}),
    ("sights/readlink@*", {"no namespaces"}),
    ("sights/chdir@*", {"no namespaces"}),
    ("sights/getxattr@*", {"no namespaces"}),
    ("looks/numbers", {"no namespaces"}),
    # Files below /proc.
    ("processes/oom_score_adj", {"neither"}),
    ("processes/oom_adj", {"neither"}),
    ("processes/coredump_filter", {"neither"}),
    ("processes/clear_refs", {"neither"}),
    ("processes/timerslack", {"neither"}),
    ("processes/autogroup", {"neither"}),
    # These only ask.
    ("processes/getsid", {"no namespaces", "neither"}),
    ("processes/pidfd_open", {"no namespaces", "neither"}),
    # RLIMIT_NPROC does not bind root.
    ("bounds/forks", {"root", "root, later"}),
    # Bytes of a pipe are no change of the file system that holds its name.
    ("reads/write-pipe", {"no Landlock"}),
    ("reads/*", {"neither"}),
    ("alone/*", {"neither"}),
    ("own/*", set(MODES)),
]

# What a program must be able to do, and where it need not: a filter sees no paths and no kinship.
NEEDED = "own/*"
NOT_NEEDED = [("own/rename", "neither"), ("own/kill-child", "neither")]

# Each row, and the attempts that it sums up.
ROWS = [
    ("write, make or remove files",
     "contents/*@home contents/*@data contents/*@other alone/write@*"),
    ("change modes, owners, times, attributes",
     "metadata/*@home metadata/*@data metadata/*@other"),
    ("rename files, make links to them", "names/*@home names/*@data names/*@other"),
    ("change its own folder", "contents/*@folder metadata/*@folder names/*@folder"),
    ("change what its manifest names in `reads`",
     "contents/*@reads metadata/*@reads names/*@reads"),
    ("read what is next to that, or where links in it lead",
     "reads/beside* reads/longer* reads/above reads/link* reads/from* reads/openat2 reads/*root"
     " reads/names* reads/swapped"),
    ("write to a pipe in it", "reads/write-pipe"),
    ("change files behind its descriptors", "descriptors/*"),
    ("read the home directory", "sights/read@home sights/read-link@home sights/list@home looks/config"),
    ("read stores elsewhere: `XDG_DATA_HOME`, `--known-hosts`, keys",
     "sights/read@data sights/read-link@data sights/list@data looks/known-hosts looks/identity"),
    ("read other files of the user", "sights/read@other sights/read-link@other sights/list@other"
     " alone/read@*"),
    ("see that a file exists, its size and mode",
     "sights/stat@* sights/access@* sights/readlink@* sights/getxattr@* sights/chdir@*"),
    ("watch or lock files",
     "sights/watch@* sights/lock@* sights/lock-part@* sights/lease@* sights/notify@*"),
    ("read command lines and environments of other processes",
     "looks/process* looks/smallweb looks/victim looks/supervisor looks/descriptors"),
    ("see in `/proc` what tells this machine from others: boot, modules, disks",
     "looks/boot looks/modules looks/devices"),
    ("see the numbers of other processes", "looks/numbers processes/getsid processes/pidfd_open"),
    ("open sockets but a pair", "sockets/*"),
    ("reach a socket of another program",
     "sockets/send* sockets/pass-descriptor sockets/connect*"),
    ("use descriptors of other processes, or those of its connections for more", "connections/*"),
    ("have a connection made that `opens` does not name", "doors/*"),
    ("reach a private address from the internet", "inside/*"),
    ("send a signal to another process", "signals/* bounds/kill"),
    ("change priorities, processors, limits of another process",
     "processes/set* processes/sched* processes/io* processes/prlimit* processes/core-*"
     " processes/migrate*"),
    ("write to files of another process in `/proc`",
     "processes/oom* processes/coredump* processes/clear* processes/timer* processes/autogroup"),
    ("read or change the memory of another process",
     "processes/ptrace* processes/process* processes/kcmp processes/pidfd_getfd"),
    ("use System V IPC or POSIX queues", "objects/*"),
    ("use memory files, namespaces, mounts, keys, privileges", "kernel/*"),
    ("take more memory than `memory_bytes`", "bounds/private bounds/shared bounds/memfd"
     " bounds/pipes bounds/torn* bounds/tables bounds/mappings bounds/*sockets bounds/usual-pipes"
     " bounds/sent-pages bounds/locks bounds/watches bounds/half-read bounds/rulesets"
     " bounds/listeners bounds/headless bounds/slots bounds/orphans"),
    ("take more space in `TMPDIR` than `memory_bytes`",
     "bounds/files bounds/unlinked bounds/small-files bounds/directories bounds/fallocate*"
     " bounds/mapped-files bounds/thread-files bounds/unreadable"),
    ("run more than 64 processes at a time", "bounds/forks"),
    ("outlive its exchange", "bounds/*chains bounds/bomb left/*"),
    ("use its `TMPDIR`, start programs", "own/*"),
]


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split())


def is_needed(name, mode):
    return fnmatch.fnmatchcase(name, NEEDED) and (name, mode) not in NOT_NEEDED


def is_allowed(name, mode):
    return any(fnmatch.fnmatchcase(name, pattern) and mode in modes for pattern, modes in ALLOWED)


def table(results):
    """Markdown; `results` has for each mode what became of each attempt: True where it worked."""
    modes = [mode for mode in MODES if mode in results]
    lines = ["| a program can | " + " | ".join(modes) + " |", "|---" * (len(modes) + 1) + "|"]
    for title, patterns in ROWS:
        cells = []
        for mode in modes:
            seen = [worked for name, worked in results[mode].items() if matches(name, patterns)]
            word = "yes" if all(seen) else "some" if any(seen) else "no"
            cells.append(word if seen else "–")
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
