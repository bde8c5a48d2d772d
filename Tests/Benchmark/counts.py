#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what a start and a page cost, in instructions and allocations of a release binary.

usage: counts.py [--update WHY] SMALLWEB SMALLWEB-LOOPBACK

Counts repeat where times do not, as long as client and server share one processor: then the
client always waits for the server. The least of some runs is compared with docs/bench/counts.json,
and more than 3 % above it fails. --update writes what has changed, with the reason. Instructions of
OpenSSL and libcurl are counted, too: on another processor than that of the file the figures are
printed alone, and nothing fails.
"""

import argparse
import contextlib
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from results import machine

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
FILE = os.path.join(ROOT, 'docs/bench/counts.json')
ROUNDS = {'instructions': 3, 'allocations': 9}
WORSE = 1.03
PAGES = (150, 1150)
KINDS = ('instructions', 'allocations')

# Loaded before the C library: counts calls in a file that outlives a process ended by _exit.
COUNTER = r'''
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
static unsigned long none, *calls = &none;
__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("COUNTS"), O_RDWR | O_CLOEXEC);
    void *page = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) calls = page;
    close(file);
}
static void count(void) { __atomic_fetch_add(calls, 1, __ATOMIC_RELAXED); }
void *malloc(size_t size) { count(); return __libc_malloc(size); }
void *calloc(size_t number, size_t size) { count(); return __libc_calloc(number, size); }
void *realloc(void *old, size_t size) { count(); return __libc_realloc(old, size); }
void *memalign(size_t align, size_t size) { count(); return __libc_memalign(align, size); }
void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
int posix_memalign(void **place, size_t align, size_t size) {
    return (*place = memalign(align, size)) ? 0 : 12;
}
'''


class Counter:
    """Runs one binary in a home of its own."""

    def __init__(self, smallweb, scratch):
        self.scratch = scratch
        self.smallweb = scratch + '/smallweb'
        subprocess.run(['strip', '-o', self.smallweb, smallweb], check=True)
        self.library = scratch + '/counter.so'
        subprocess.run([os.environ.get('CC', 'cc'), '-O2', '-shared', '-fPIC', '-xc', '-',
                        '-o', self.library], input=COUNTER.encode(), check=True)
        self.environment = {'PATH': os.environ['PATH'], 'HOME': scratch, 'LC_ALL': 'C.UTF-8'}

    def run(self, before, words, **variables):
        return subprocess.run(
            before + [self.smallweb, 'get'] + words, env={**self.environment, **variables},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)

    def instructions(self, words):
        run = self.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null'], words)
        return int(re.search(rb'Collected : (\d+)', run.stderr)[1])

    def allocations(self, words):
        path = self.scratch + '/counts'
        with open(path, 'wb') as file:
            file.write(bytes(8))
        self.run([], words, LD_PRELOAD=self.library, COUNTS=path)
        with open(path, 'rb') as file:
            return int.from_bytes(file.read(), sys.byteorder)

    def start(self, kind, words):
        count = getattr(self, kind)
        return min(count(words) for _ in range(ROUNDS[kind]))

    def page(self, kind, words, url):
        counts = []
        for pages in PAGES:
            path = f'{self.scratch}/{pages}'
            with open(path, 'w', encoding='ascii') as file:
                file.write(f'{url}\n' * pages)
            counts.append(self.start(kind, words + ['-s', '-Z', '@' + path]))
        return round((counts[1] - counts[0]) / (PAGES[1] - PAGES[0]))


@contextlib.contextmanager
def servers(loopback):
    """URLs of 1 KiB, by scheme."""
    with subprocess.Popen([loopback, '--only', 'gopher,gemini,http'], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        lines = iter(process.stdout.readline, b'ready\n')
        ports = dict(line.decode().split()[::2] for line in lines)
        yield {scheme: f'{scheme}://127.0.0.1:{port}{"/0" if scheme == "gopher" else ""}/1k'
               for scheme, port in ports.items()}
        process.stdin.close()


def measure(counter, urls):
    for url in urls.values():  # Pins keys.
        counter.run([], [url])
    found = {}
    for kind in KINDS:
        for name, scheme, options in [
                ('page of gopher', 'gopher', []), ('page of gopher, --json', 'gopher', ['--json']),
                ('page of http', 'http', []), ('page of http, --json', 'http', ['--json'])]:
            found.setdefault(name, {})[kind] = counter.page(kind, options, urls[scheme])
        for scheme in ('gopher', 'gemini'):
            found.setdefault(f'start of {scheme}', {})[kind] = counter.start(kind, [urls[scheme]])
    return found


def compare(found, known):
    """Prints both, and returns what is worse."""
    worse = []
    print(f'{"":24}{"instructions":>14}{"":>9}{"allocations":>14}')
    for name, counts in found.items():
        line = f'{name:24}'
        for kind in KINDS:
            before = known.get(name, {}).get(kind)
            ratio = counts[kind] / before if before else 1
            line += f'{counts[kind]:14,}' + (f'{(ratio - 1) * 100:+8.1f}%' if before else ' ' * 9)
            if ratio > WORSE:
                worse.append(f'{name}: {counts[kind]:,} {kind} instead of {before:,}')
        print(line.rstrip())
    return worse


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--update', metavar='WHY')
    parser.add_argument('smallweb')
    parser.add_argument('loopback')
    arguments = parser.parse_args()
    for tool in ('valgrind', 'strip'):
        if not shutil.which(tool):
            sys.exit(f'counts.py: {tool} is missing: install it')
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    with tempfile.TemporaryDirectory() as scratch, servers(arguments.loopback) as urls:
        found = measure(Counter(arguments.smallweb, scratch), urls)
    cpu = machine()['cpu']
    saved = {'cpu': cpu, 'figures': {}}
    if os.path.exists(FILE):
        with open(FILE, encoding='utf-8') as file:
            saved = json.load(file)
    known = saved['figures'] if saved['cpu'] == cpu else {}
    worse = compare(found, known)
    if arguments.update:
        today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        for name, counts in found.items():
            before = known.get(name)
            if not before or any(abs(counts[kind] / before[kind] - 1) > 0.01 for kind in KINDS):
                known[name] = {**counts, 'since': today, 'why': arguments.update}
        with open(FILE, 'w', encoding='utf-8') as file:
            json.dump({'cpu': cpu, 'figures': known}, file, indent=2, ensure_ascii=False)
            file.write('\n')
    elif worse:
        sys.exit('not ok - nothing is worse by more than 3 % (make counts WHY=... when it must be):\n    '
                 + '\n    '.join(worse))
    elif known:
        print(f'ok - none of {len(found)} figures is worse by more than 3 %')
    else:
        print(f'skipped - counts.json is of {saved["cpu"]}, and this is {cpu}')


if __name__ == '__main__':
    main()
