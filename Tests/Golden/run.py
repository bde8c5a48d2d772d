#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares two binaries over the command lines of the file `cases`, against loopback servers.

usage: run.py OLD NEW [--loopback PATH] [--only TEXT] [--keep DIR]

A redesign must not change a byte of records, messages, archives and other files: OLD is the binary
of before, NEW the one of after. Both run each case against the same servers, in a home directory of
the same path that is new each time. Standard output, standard error, exit status, and every file
that is there afterwards are compared. A difference is printed as a unified diff, and the status is
1. What differs from run to run is masked first (`Masks`); OLD against itself reports nothing.

--only runs the cases whose name contains TEXT. --keep writes what was compared into DIR/old and
DIR/new, and beside it what that was before masks (.raw).
"""

import argparse
import base64
import contextlib
import datetime
import difflib
import email.utils
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import ssl
import stat
import string
import subprocess
import sys
import tempfile
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = str(HERE.parents[1])
# Longest command, in seconds.
PATIENCE = 60
PEM = re.compile(r'-----BEGIN ([A-Z ]+)-----\s([^-]*)-----END \1-----')
WARC_HEAD = re.compile(rb'WARC/1\.1\r\n(?:[^\r\n]+\r\n)*?Content-Length: (\d+)\r\n\r\n')
# Control characters but tab and line end.
PICTURES = {number: 0x2400 + number for number in range(32) if number not in (9, 10)}


def certificate_facts(der, name):
    """The numbers by which smallweb calls a certificate, and names for them."""
    facts = {hashlib.sha256(der).hexdigest(): f'<{name}>',
             hashlib.sha512(der).hexdigest(): f'<{name}, sha512>'}
    # A public key on P-256, and the serial number behind the version.
    key = re.search(rb'\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01.{78}', der, re.DOTALL)
    if key:
        digits = hashlib.sha256(key[0]).hexdigest()
        facts[digits] = f'<key of {name}>'
        facts[' '.join(re.findall('.{8}', digits))] = f'<key of {name} in groups>'
    serial = re.search(rb'\xa0\x03\x02\x01\x02\x02(.)', der, re.DOTALL)
    if serial:
        digits = der[serial.end():][:serial[1][0]].lstrip(b'\0').hex()
        facts[digits] = f'<serial of {name}>'
    return facts


class Masks:
    """Everything that differs from run to run, and nothing else."""

    def __init__(self, places, server, now):
        self.places = places  # paths of temporary files and of the sources, and ports
        self.server = server
        self.facts = certificate_facts(server, 'server')
        # Moments of this run, up to the end of a certificate that was made for a year.
        self.near = (now - 2 * 86400, now + 370 * 86400)

    def moment(self, match):
        """Zeros for the digits of a moment of this run, so that its form is still compared."""
        text = match[0]
        try:
            if text[0].isalpha():
                seconds = email.utils.parsedate_to_datetime(text).timestamp()
            elif '-' in text:
                seconds = datetime.datetime.fromisoformat(text[:10] + ' 00:00+00:00').timestamp()
            else:
                seconds = float(text)
        except ValueError:
            return text
        return re.sub('[0-9]', '0', text) if self.near[0] < seconds < self.near[1] else text

    def text(self, text, facts=None):
        """A text without them; `facts` are those of the client certificates of a case."""
        for before, after in self.places.items():
            text = re.sub(rf'(?<![0-9]){re.escape(before)}(?![0-9])', after, text)
        text = PEM.sub(lambda match: '<certificate of server>' if self.server ==
                       base64.b64decode(match[2]) else f'<{match[1].lower()}>', text)
        for before, after in {**self.facts, **(facts or {})}.items():
            text = text.replace(before, after)
        text = re.sub(r'\b20\d\d-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?)?', self.moment, text)
        text = re.sub(r'\b\d{10}(\.\d+)?\b', self.moment, text)
        text = re.sub(r'\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} \S+', self.moment, text)
        # Durations: in records, by -w and in turns of an archive; in messages.
        text = re.sub(r'\b\d+\.\d{6}\b', '0.000000', text)
        text = re.sub(r'("actual":"|  time +| after )[\d.]+ m?s\b', r'\g<1>0 s', text)
        text = re.sub(r'"rate":\d+', '"rate":0', text)
        # Records of an archive keep their references, as each has a number.
        numbers = {}
        return re.sub(r'urn:uuid:[0-9a-f-]{36}', lambda match: numbers.setdefault(
            match[0], f'urn:uuid:<{len(numbers) + 1}>'), text)

    def archive(self, content):
        """A WARC file; a digest that is right is not shown where masks change its block."""
        def record(match):
            block = content[match.end():match.end() + int(match[1])]
            shown = block.decode(errors='backslashreplace')
            if self.text(shown) == shown:
                return match[0]
            digest = hashlib.sha256(block).hexdigest().encode()
            return match[0].replace(b'Block-Digest: sha256:' + digest, b'Block-Digest: <right>')
        return WARC_HEAD.sub(record, content).decode(errors='backslashreplace')


def inflated(content):
    """Members of gzip one behind the other, and how many; the content if they are not whole."""
    parts, rest = [], content
    with contextlib.suppress(zlib.error):
        while rest:
            member = zlib.decompressobj(31)
            parts.append(member.decompress(rest))
            rest = member.unused_data
        return b''.join(parts), len(parts)
    return content, 0


def shown(title, content):
    """Lines of an output or a file; records are cut in front of each member."""
    if not content:
        return []
    try:
        text = content if isinstance(content, str) else content.decode()
    except UnicodeDecodeError:
        return [f'{title}: {len(content)} bytes, sha256:{hashlib.sha256(content).hexdigest()}']
    lines = [f'{title}:']
    for line in text.translate(PICTURES).split('\n'):
        pieces = line.replace(',"', ',\n"') if line.startswith('{') else line
        lines += ['    ' + piece for piece in pieces.split('\n')]
    # Behind the last line end is no line.
    return lines[:-1] if lines[-1] == '    ' else lines + ['(without a line end)']


class Case:
    """Steps in a home of their own."""

    def __init__(self, name, flags):
        self.name = name
        self.flags = flags
        self.steps = []

    def run(self, binary, home, masks, words):
        """What came of it, raw and masked."""
        os.mkdir(home, 0o700)
        environment = {'PATH': os.environ['PATH'], 'HOME': home, 'TZ': 'UTC', 'NO_COLOR': '1',
                       'LC_ALL': 'C.UTF-8', 'XDG_CONFIG_DIRS': home + '/etc'}
        lines, stdin = [], b''
        for mark, rest in self.steps:
            rest = string.Template(rest).safe_substitute(words)
            if mark == '+':
                path, text = rest.split(' ', 1)
                path = pathlib.Path(home, path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(0o600)
                path.write_text(path.read_text('utf-8') + text + '\n', 'utf-8')
            elif mark == '<':
                stdin += rest.encode() + b'\n'
            elif mark == ':':
                name, environment[name] = rest.split('=', 1)
            elif mark == '!':
                lines += [f'! {rest}'] + self.command(['/bin/sh', '-ec', rest], environment, b'')
            else:
                lines.append(f'$ smallweb {rest}')
                lines += self.command([binary] + shlex.split(rest), environment, stdin)
                stdin = b''
        lines += self.files(home, masks)
        shutil.rmtree(home)
        raw, facts = '\n'.join(lines) + '\n', {}
        for match in PEM.finditer(raw):
            if match[1] == 'CERTIFICATE' and (der := base64.b64decode(match[2])) != masks.server:
                facts.update(certificate_facts(der, f'certificate {len(facts)}'))
        return raw, masks.text(raw, facts)

    def command(self, words, environment, stdin):
        """Output and status of one."""
        # A session of its own has no terminal that could be asked.
        with subprocess.Popen(words, env=environment, cwd=environment['HOME'],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, start_new_session=True) as process:
            try:
                out, errors = process.communicate(stdin, timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, errors = process.communicate()
                errors += b'\nrun.py: this took too long\n'
        if 'sort' in self.flags:
            # Which of several connections resumes a session is as uncertain.
            out = re.sub(rb'"resumed":(true|false)', b'"resumed":?', out)
            out = b''.join(sorted(out.splitlines(keepends=True)))
        if 'received' in self.flags:
            out = re.sub(rb'"received":\d+', b'"received":?', out)
        return (shown('stdout', out) + shown('stderr', errors)
                + [f'exit status {process.returncode}'])

    @staticmethod
    def files(home, masks):
        """Each file with its mode and content."""
        lines = []
        for directory, folders, names in os.walk(home):
            folders.sort()
            for name in sorted(names) + folders:
                path = pathlib.Path(directory, name)
                mode = path.lstat().st_mode
                title = f'{stat.filemode(mode)} {path.relative_to(home)}'
                content = path.read_bytes() if stat.S_ISREG(mode) else b''
                if content.startswith(b'\x1f\x8b'):
                    content, members = inflated(content)
                    title += f', {members} members'
                if content.startswith(b'WARC/1.1\r\n'):
                    content = masks.archive(content)
                lines += shown(title, content) or [title]
        return lines


def read_cases():
    """Those of the file `cases`, in its order."""
    cases = []
    text = (HERE / 'cases').read_text(encoding='utf-8').replace('\\\n', '')
    for line in text.splitlines():
        mark, _, rest = line.partition(' ')
        if mark == '=':
            cases.append(Case(*(rest.rstrip(']').split(' [') + [''])[:2]))
        elif mark in ('+', '<', ':', '!', '$'):
            cases[-1].steps.append((mark, rest))
        elif line and mark != '#':
            sys.exit(f'cases: not a line of a case: {line}')
    return cases


@contextlib.contextmanager
def servers(loopback):
    """Ports, by name; the end of standard input ends the servers."""
    with subprocess.Popen([loopback], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        ports = {}
        for line in process.stdout:
            if line == b'ready\n':
                break
            name, _, ports[name] = line.decode().split()
        yield ports


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('old', type=os.path.abspath)
    parser.add_argument('new', type=os.path.abspath)
    parser.add_argument('--loopback', type=os.path.abspath,
                        default=os.path.join(ROOT, '.build/debug/smallweb-loopback'))
    parser.add_argument('--only', metavar='TEXT', default='')
    parser.add_argument('--keep', metavar='DIR')
    arguments = parser.parse_args()
    began = time.time()
    cases = [case for case in read_cases() if arguments.only in case.name]
    differing = []
    with tempfile.TemporaryDirectory() as scratch, servers(arguments.loopback) as ports:
        home = os.path.join(scratch, 'home')
        places = {home: '<home>', ROOT: '<root>', arguments.old: 'smallweb',
                  arguments.new: 'smallweb', **{port: f'<{name}>' for name, port in ports.items()}}
        pem = ssl.get_server_certificate(('127.0.0.1', int(ports['gemini'])))
        masks = Masks(places, ssl.PEM_cert_to_DER_cert(pem), began)
        words = {'root': ROOT, 'key': 'sha256:' + 'ab' * 32}
        for name, port in ports.items():
            words |= {name: f'127.0.0.1:{port}', name + 'port': port}
        for case in cases:
            results = []
            for side, binary in (('old', arguments.old), ('new', arguments.new)):
                raw, masked = case.run(binary, home, masks, words)
                results.append(masked.splitlines(keepends=True))
                if arguments.keep:
                    place = pathlib.Path(arguments.keep, side)
                    place.mkdir(parents=True, exist_ok=True)
                    (place / case.name).write_text(masked, 'utf-8')
                    (place / (case.name + '.raw')).write_text(raw, 'utf-8')
            if results[0] != results[1]:
                differing.append(case.name)
                print(f'not ok - {case.name}')
                sys.stdout.writelines(difflib.unified_diff(*results, 'old', 'new'))
    commands = sum(mark == '$' for case in cases for mark, _ in case.steps)
    print(f'{len(cases)} cases with {commands} commands in {time.time() - began:.0f} s; '
          f'{len(differing)} differ{": " if differing else ""}{", ".join(differing)}')
    sys.exit(1 if differing or not cases else 0)


if __name__ == '__main__':
    main()
