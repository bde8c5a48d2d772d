#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fuzzes every parser, in an optimised build and in one with sanitizers.

    Tests/Fuzz/run.py fuzz --seconds 120 [TARGET...]   all targets for as long in all
    Tests/Fuzz/run.py night --hours 8 [TARGET...]      the optimised ones in turns; finds are kept
    Tests/Fuzz/run.py merge [TARGET...]                the corpus again: what is found, minimised
    Tests/Fuzz/run.py coverage [TARGET...]             lines of each parser that the corpus reaches

Everything is made in .build/fuzz (--work DIR for another place). A crash, a leak or a broken promise
stops its target, its input is kept in .build/fuzz/findings, and the status is 1. Repeat one with

    SMALLWEB_FUZZ_TARGET=uri .build/fuzz/fast/release/smallweb-fuzz .build/fuzz/findings/uri-crash-…
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
import time

import seeds

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
CORPUS = os.path.join(ROOT, 'Tests/Fuzz/corpus')
# Of a target in the tree, escaped; the smallest inputs come first.
CORPUS_BYTES_MAX = 50_000
INPUT_BYTES_MAX = 4096
LINES_MIN = 90.0

BUILDS = {
    'fast': ['-c', 'release', '-Xswiftc', '-sanitize=fuzzer'],
    'safe': ['-c', 'debug', '-Xswiftc', '-sanitize=fuzzer,address'],
    'covered': ['-c', 'debug', '-Xswiftc', '-sanitize=fuzzer',
                '-Xswiftc', '-profile-generate', '-Xswiftc', '-profile-coverage-mapping'],
}
FOLDERS = {'fast': 'release', 'safe': 'debug', 'covered': 'debug'}
FUZZERS = ['fast', 'safe']


class Work:
    """The directory in which everything is made."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        os.makedirs(self.folder('findings'), exist_ok=True)

    def folder(self, *names):
        return os.path.join(self.path, *names)

    def program(self, build):
        return self.folder(build, FOLDERS[build], 'smallweb-fuzz')

    def build(self, build):
        """The linker warns of every symbol of the sanitizers: its words are shown when it fails."""
        command = ['swift', 'build', '--scratch-path', self.folder(build), '--product',
                   'smallweb-fuzz', '-Xswiftc', '-enable-testing'] + BUILDS[build]
        result = subprocess.run(
            command, cwd=ROOT, env=dict(os.environ, SMALLWEB_FUZZ='1'), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode != 0:
            for line in result.stdout.splitlines():
                if 'Cannot export local symbol' not in line:
                    print(line, file=sys.stderr)
            sys.exit(1)

    def unpack(self, target, with_fixtures=False):
        """The directories of a target's inputs; the first one gets what is found. The corpus has
        what is of use in the fixtures: it is made with them."""
        inputs = {'corpus': read_corpus(target), 'seeds': seeds.by_hand(target)}
        if with_fixtures:
            inputs['fixtures'] = seeds.shared() + seeds.of_fixtures(target)
        folders = [self.folder(kind, target) for kind in inputs]
        for folder, found in zip(folders, inputs.values()):
            os.makedirs(folder, exist_ok=True)
            for number, data in enumerate(found):
                with open(os.path.join(folder, f'tree-{number}'), 'wb') as file:
                    file.write(data)
        return folders


def read_corpus(target):
    path = os.path.join(CORPUS, target)
    return seeds.lines(path) if os.path.exists(path) else []


def write_corpus(target, folder):
    """One input a line, with escapes, so that changes can be read."""
    lines, total, most = [], 0, CORPUS_BYTES_MAX
    names = os.listdir(folder)
    for name in sorted(names, key=lambda name: os.path.getsize(os.path.join(folder, name))):
        with open(os.path.join(folder, name), 'rb') as file:
            data = file.read()
        line = seeds.escape(data)
        total += len(line) + 1
        if len(data) > INPUT_BYTES_MAX or total > most:
            break
        lines.append(line)
    with open(os.path.join(CORPUS, target), 'w', encoding='ascii') as file:
        file.write(''.join(line + '\n' for line in sorted(lines)))


class Result:
    """What several turns of one target in one build came to."""

    def __init__(self, target, build):
        self.target, self.build = target, build
        self.runs, self.seconds, self.edges, self.inputs = 0, 0.0, 0, 0
        self.finding = None


def environment(target):
    # Swift's own backtraces would keep the fuzzer from writing the input down.
    return dict(os.environ, SMALLWEB_FUZZ_TARGET=target, LLVM_PROFILE_FILE='/dev/null',
                SWIFT_BACKTRACE='enable=no')


def turn(work, program, result, seconds, with_fixtures=False, seed=0):
    folders = work.unpack(result.target, with_fixtures)
    prefix = work.folder('findings', f'{result.target}-')
    log = work.folder(f'{result.target}-{result.build}.log')
    begin = time.monotonic()
    with open(log, 'w') as file:
        status = subprocess.run(
            [program, f'-max_total_time={max(1, round(seconds))}', '-max_len=4096', '-timeout=10',
             f'-seed={seed}', '-rss_limit_mb=2048', '-print_final_stats=1', f'-artifact_prefix={prefix}'] + folders,
            env=environment(result.target), stdout=file, stderr=subprocess.STDOUT).returncode
    result.seconds += time.monotonic() - begin
    with open(log, errors='replace') as file:
        text = file.read()
    runs = re.findall(r'stat::number_of_executed_units: (\d+)', text) \
        or re.findall(r'^#(\d+)', text, re.M)
    result.runs += int(runs[-1]) if runs else 0
    for line in re.findall(r'cov: (\d+) ft: \d+ corp: (\d+)', text)[-1:]:
        result.edges, result.inputs = int(line[0]), int(line[1])
    if status != 0:
        found = re.findall(r'Test unit written to (\S+)', text)
        result.finding = found[-1] if found else log
        print(f'fuzz: {result.target} ({result.build}) FAILED: {result.finding}', flush=True)
        print('\n'.join(text.splitlines()[-40:]), file=sys.stderr, flush=True)


def in_parallel(jobs, items, work):
    """Gives `work` the items, which may be a generator, in so many threads."""
    items, lock = iter(items), threading.Lock()

    def loop():
        while True:
            with lock:
                item = next(items, None)
            if item is None:
                return
            work(item)

    threads = [threading.Thread(target=loop) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def table(results):
    """Prints what was done; the status."""
    print(f'{"target":18} {"build":5} {"executions":>14} {"a second":>9} {"edges":>6} '
          f'{"inputs":>6}  finding')
    for each in sorted(results, key=lambda each: (each.target, each.build)):
        rate = each.runs / each.seconds if each.seconds else 0
        print(f'{each.target:18} {each.build:5} {each.runs:14,} {rate:9,.0f} {each.edges:6} '
              f'{each.inputs:6}  {each.finding or "none"}')
    runs, seconds = sum(each.runs for each in results), sum(each.seconds for each in results)
    findings = sum(each.finding is not None for each in results)
    print(f'{"sum":18} {"":5} {runs:14,} {runs / max(seconds, 1):9,.0f} {"":6} {"":6}  {findings}')
    print(f'{"not ok" if findings else "ok"} - {len(results)} fuzzers ran, with {findings} findings')
    return 1 if findings else 0


def all_targets(work, build):
    """As the program lists them when it is asked for none: without a crash, of which the fuzzer
    would keep the input where it runs."""
    result = subprocess.run([work.program(build)], env=environment(''), text=True,
                            stdout=subprocess.PIPE)
    if result.returncode != 2:
        sys.exit(f'fuzz: the program lists no targets: status {result.returncode}')
    return result.stdout.split()


def fuzz(work, options):
    """With the same inputs each time, as far as the seconds go: a test is not to fail by chance."""
    results = [Result(target, build) for build in options.build or FUZZERS
               for target in options.targets]
    share = options.seconds * options.jobs / len(results)
    in_parallel(options.jobs, results,
                lambda result: turn(work, work.program(result.build), result, share,
                                    seed=1))
    return table(results)


def night(work, options):
    # A copy, so that nothing that is built meanwhile changes it.
    program = shutil.copy(work.program('fast'), work.folder('smallweb-fuzz-night'))
    end = time.monotonic() + options.hours * 3600
    results = [Result(target, 'fast') for target in options.targets]
    # Each target gets four turns or more, of ten minutes at most.
    share = min(600, max(5, options.hours * 3600 * options.jobs / len(results) / 4))

    def turns():
        while time.monotonic() < end - 1 and any(each.finding is None for each in results):
            for each in results:
                if each.finding is None and time.monotonic() < end - 1:
                    yield each

    def one(result):
        turn(work, program, result, min(share, end - time.monotonic()), with_fixtures=True)
        total = sum(each.runs for each in results)
        print(f'{time.strftime("%H:%M:%S")} {result.target}: {result.runs:,} executions, '
              f'{result.edges} edges; all: {total:,}', flush=True)

    in_parallel(options.jobs, turns(), one)
    if not options.keep_corpus:
        in_parallel(options.jobs, [each.target for each in results if each.finding is None],
                    lambda target: merge_one(work, program, target))
    return table(results)


def merge_one(work, program, target):
    folders = work.unpack(target, with_fixtures=True)
    merged = work.folder('merged', target)
    shutil.rmtree(merged, ignore_errors=True)
    os.makedirs(merged)
    with open(work.folder(f'{target}-merge.log'), 'w') as file:
        status = subprocess.run(
            [program, '-merge=1', '-max_len=4096', '-timeout=10', merged] + folders,
            env=environment(target), stdout=file, stderr=subprocess.STDOUT).returncode
    if status != 0:
        print(f'fuzz: the corpus of {target} cannot be merged, see {file.name}', file=sys.stderr)
        return
    write_corpus(target, merged)
    shutil.rmtree(folders[0])
    shutil.move(merged, folders[0])


def merge(work, options):
    in_parallel(options.jobs, options.targets,
                lambda target: merge_one(work, work.program('fast'), target))
    return 0


def coverage(work, options):
    program = work.program('covered')
    profiles = work.folder('profiles')
    shutil.rmtree(profiles, ignore_errors=True)
    shutil.rmtree(work.folder('tree'), ignore_errors=True)
    os.makedirs(profiles)
    # The corpus of the tree alone, and nothing that only this machine has found.
    tree = Work(work.folder('tree'))
    failed = []

    def run(target):
        profile = os.path.join(profiles, target + '.profraw')
        with open(work.folder(f'{target}-coverage.log'), 'w') as file:
            if subprocess.run([program, '-runs=0', '-max_len=4096'] + tree.unpack(target),
                              env=dict(environment(target), LLVM_PROFILE_FILE=profile),
                              stdout=file, stderr=subprocess.STDOUT).returncode != 0:
                failed.append(file.name)

    in_parallel(options.jobs, options.targets, run)
    tools = os.path.dirname(os.path.realpath(shutil.which('swift')))
    merged = os.path.join(profiles, 'all.profdata')
    subprocess.run([os.path.join(tools, 'llvm-profdata'), 'merge', '-o', merged] + [
        os.path.join(profiles, name) for name in os.listdir(profiles)], check=True)
    report = subprocess.run(
        [os.path.join(tools, 'llvm-cov'), 'show', '-instr-profile', merged, program]
        + [os.path.join(ROOT, name) for name in seeds.PARSERS],
        capture_output=True, check=True, text=True).stdout
    missed = 0
    print(f'{"parser":55} {"lines":>5} {"reached":>8}')
    for name, (lines, reached) in reached_lines(report).items():
        percent = 100 * reached / lines
        missed += percent < LINES_MIN
        mark = ' LOW' if percent < LINES_MIN else ''
        print(f'{name:55} {lines:5} {percent:7.1f}%{mark}')
    for name in failed:
        print(f'fuzz: the corpus FAILED, see {name}', file=sys.stderr)
    print(f'{missed} of {len(seeds.PARSERS)} below {LINES_MIN:.0f}%')
    return 1 if missed or failed else 0


def reached_lines(report):
    """How many lines each file has, and how many of them were run. The commands at the end of a
    file are not parsers."""
    counts, name, is_command = {}, None, False
    for line in report.splitlines():
        if line.endswith('.swift:') and line.startswith('/'):
            name, is_command = os.path.relpath(line[:-1], ROOT), False
            counts[name] = [0, 0]
        found = re.match(r' *\d+\| *([0-9.]+[kMGTPE]?)?\|(.*)', line)
        if not found:
            continue
        is_command = is_command or found[2].startswith('extension Command {')
        if found[1] and not is_command:
            counts[name][0] += 1
            counts[name][1] += found[1] != '0'
    return counts


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('mode', choices=['fuzz', 'night', 'merge', 'coverage'])
    parser.add_argument('targets', nargs='*')
    parser.add_argument('--seconds', type=float, default=120)
    parser.add_argument('--hours', type=float, default=8)
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--build', action='append', choices=FUZZERS,
                        help='fuzz: with this build alone')
    parser.add_argument('--work', default=os.path.join(ROOT, '.build/fuzz'))
    parser.add_argument('--no-build', action='store_true', help='what is built already')
    parser.add_argument('--keep-corpus', action='store_true', help='night: do not merge')
    options = parser.parse_intermixed_args()
    work = Work(options.work)
    builds = {'fuzz': options.build or FUZZERS, 'coverage': ['covered']}.get(options.mode, ['fast'])
    for build in builds if not options.no_build else []:
        work.build(build)
    options.targets = options.targets or all_targets(work, builds[0])
    modes = {'fuzz': fuzz, 'night': night, 'merge': merge, 'coverage': coverage}
    sys.exit(modes[options.mode](work, options))


main()
