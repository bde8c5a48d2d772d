#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""feed, watch and --render with pages, states and commands that are hard to bear.

usage: hostile.py SMALLWEB
"""
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import xml.dom.minidom

smallweb = os.path.realpath(sys.argv[1])
work = tempfile.mkdtemp(prefix='smallweb-hostile.')
os.chdir(work)
failed = 0
pages = {}
MEGABYTE = 1 << 20


def check(name, holds, seen=''):
    global failed
    print(('ok - ' if holds else 'not ok - ') + name, flush=True)
    if not holds:
        failed += 1
        print('    ' + repr(seen)[:600])


class Capsule(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class Page(socketserver.StreamRequestHandler):
    """Spartan: a line, then what `pages` has for its path: bytes, or a function of the stream."""

    def handle(self):
        words = self.rfile.readline().split()
        if len(words) != 3:
            return
        path = words[1].decode()
        page = pages.get(path, b'4 not found\r\n')
        try:
            if callable(page):
                page(self.wfile)
            else:
                self.wfile.write(page)
        except OSError:
            pass


server = Capsule(('127.0.0.1', 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
place = 'spartan://127.0.0.1:%d' % server.server_address[1]


def gemtext(text, kind='text/gemini'):
    return b'2 ' + kind.encode() + b'\r\n' + (text if isinstance(text, bytes) else text.encode())


def repeated(head, piece, count):
    def write(stream):
        stream.write(head)
        for _ in range(count):
            stream.write(piece)
    return write


class Result:
    pass


def run(*words, limit=None, timeout=120, **more):
    """Runs smallweb; the result has its status, output, messages, seconds and peak memory."""
    environment = {'PATH': os.environ['PATH'], 'HOME': work, 'LC_ALL': 'C.UTF-8'}
    environment.update(more.pop('env', {}))
    result = Result()
    begin = time.monotonic()

    def prepare():
        for one in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(one, signal.SIG_DFL)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with open('out', 'wb') as out, open('err', 'wb') as err:
        process = subprocess.Popen([smallweb, *words], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err, env=environment, preexec_fn=prepare, **more)
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = 0
    result.seconds = time.monotonic() - begin
    result.status = os.waitstatus_to_exitcode(status)
    result.memory = usage.ru_maxrss * 1024
    result.processor = usage.ru_utime + usage.ru_stime
    # Not all of a large one: what this process takes would count as the child's.
    with open('out', 'rb') as file:
        result.out = file.read(4 * MEGABYTE)
    with open('err', 'rb') as file:
        result.err = file.read().decode(errors='replace')
    return result


def seen(result):
    return (result.status, result.out[-200:], result.err[-300:], round(result.seconds, 2),
            result.memory >> 20)


def feed_entries(document):
    feed = xml.dom.minidom.parseString(document)
    return [tuple(entry.getElementsByTagName(name)[0].firstChild.data
                  if entry.getElementsByTagName(name)[0].firstChild else ''
                  for name in ('id', 'title', 'updated'))
            for entry in feed.getElementsByTagName('entry')]


# Pages of HTML and Markdown, of which each may be nested, long or repeated: in linear time, and in
# memory that does not grow with them. First of all, while this process is small: the peak of a child
# includes that of its parent before the exec.
HTML = [(b'', unit) for unit in (
    b'<div>x', b'<ul><li>x', b'<table><tr><td>x', b'<blockquote>x', b'<a>x', b'<b>x', b'<br>x', b'<p hidden>x',
    b'<svg>', b'<select><option>x', b'<ruby><rt>x', b'</div></p>', b'&lt', b'x', b'x ', b'<img src=a alt=b>', b'<hr>')]
HTML += [(b'<p', b' a=b'), (b'<p title="', b'x'), (b'<x', b'x'), (b'<table><tr>', b'<td>x'), (b'<ul>', b'<li>x'),
         (b'<pre>', b'x\n'), (b'<pre>', b'x'), (b'<!--', b'-'), (b'<script>', b'<'), (b'<title>', b'x'),
         (b'<img srcset="', b'a,'), (b'<h1>', b'x ')]
MARKDOWN = [(b'', unit) for unit in (
    b'> ', b'- ', b'1. ', b'> - ', b'[', b'![', b'[a](b', b'*', b'**a _b ', b'<', b'<a ', b'<div>\n', b'# a\n',
    b'[a]: b\n', b'[a]: [a]\n\n[a]\n', b'```\n', b'|-\n', b'|a|\n|-|\n|b|\n', b'a\n\n', b'- a\n', b'    a\n',
    b'a  \n', b'\\', b'&', b'x', b'x ')]
for kind, units in (('text/html', HTML), ('text/markdown', MARKDOWN)):
    worst = {}
    for begin, unit in units:
        for words in (['links', '--all'], ['get', '--render', 'text'], ['get', '--render', 'html'],
                      ['get', '--render', 'markdown']):
            head = b'2 ' + kind.encode() + b'\r\n' + begin
            pages['/long'] = repeated(head, unit * 1000, MEGABYTE // len(unit) // 1000)
            result = run(*words, place + '/long')
            if result.status != 0:
                worst['status'] = (result.status, begin, unit, words)
            for name, value in (('memory', result.memory), ('processor', result.processor)):
                worst[name] = max(worst.get(name, (0,)), (value, begin, unit, words))
    check('a megabyte of each kind of %s: %.1f s, %d MiB at most' % (
        kind, worst['processor'][0], worst['memory'][0] >> 20),
        'status' not in worst and worst['processor'][0] < 5 and worst['memory'][0] < 64 * MEGABYTE, worst)

# Size

def dated(count):
    return gemtext('# Many\n' + ''.join(
        '=> /p/%d 20%02d-%02d-%02d Post %d\n' % (n, n // 336 % 100, n // 28 % 12 + 1, n % 28 + 1, n)
        for n in range(count)))


def least(*words):
    return min((run(*words) for _ in range(5)), key=lambda one: one.processor)


# Its time grows with the page, five times at most, and not with the square of it.
pages['/many'], pages['/some'] = dated(10_000), dated(2_000)
fast, some = least('feed', place + '/many'), least('feed', place + '/some')
check('a page of 10,000 entries takes %.1f times as long as one of 2,000, less than 6' %
      (fast.processor / some.processor),
      fast.status == 0 and fast.processor < 6 * some.processor, seen(fast))
check('it has the newest 100 entries', len(feed_entries(fast.out)) == 100)
again = run('feed', place + '/many')
check('the second feed has the same bytes', again.out == fast.out)
whole = least('feed', '--max-entries', '10000', place + '/many')
some = least('feed', '--max-entries', '2000', place + '/many')
check('all 10,000 entries take %.1f times as long as 2,000, less than 6' %
      (whole.processor / some.processor),
      len(feed_entries(whole.out)) == 10_000 and whole.processor < 6 * some.processor, seen(whole))

block = b'some text of a long page\n' * 42_000
pages['/large'] = repeated(gemtext('=> a 2024-01-01 First\n'), block, 100)
pages['/line'] = repeated(gemtext(''), b'x' * MEGABYTE, 100)
links = ''.join('=> /link/%d 2024-01-01 A link\n' % n for n in range(1000)).encode()
pages['/links'] = lambda stream: [stream.write(gemtext('# Links\n'))] + [
    stream.write(links.replace(b'/link/', b'/link/%d/' % n)) for n in range(1000)]
for path, name in (('/large', '100 MB'), ('/line', '100 MB in one line'), ('/links', 'a million links')):
    for words in (['feed'], ['watch', '--state', 's' + path[1:]],
                  ['watch', '--diff', '--ignore', 'x+y', '--state', 'd' + path[1:]],
                  ['watch', '--links', '--state', 'l' + path[1:]],
                  ['get', '--render', 'html'], ['get', '--render', 'markdown']):
        result = run(*words, place + path)
        check('%s with %s: %.1f s, %d MiB' % (
            name, ' '.join(words).split(' --state')[0], result.seconds,
            result.memory >> 20),
              result.status == 0 and result.memory < 160 * MEGABYTE, seen(result))
result = run('feed', '--new', '--state', 'new', place + '/links')
check('a million links by first sight: %.1f s, %d MiB' % (result.seconds, result.memory >> 20),
      result.status == 0 and result.memory < 300 * MEGABYTE, seen(result))

# Dates and labels

dates = ['0000-01-01', '10000-01-01', '2024-02-30', '2023-02-29', '٢٠٢٤-٠٤-٠٥', '2024-13-01',
         '2024-00-10', '2024-1-1', '20240405', '99999999999999999999-01-01', '-2024-01-01']
pages['/dates'] = gemtext(''.join('=> /%d %s no\n' % pair for pair in enumerate(dates))
                          + '=> /yes 9999-12-31 yes\n=> /leap 2024-02-29 leap\n')
result = run('feed', place + '/dates')
check('only real dates count', [one[2] for one in feed_entries(result.out)]
      == ['9999-12-31T12:00:00Z', '2024-02-29T12:00:00Z'], result.out)

labels = ['a\x01\x1b[31mb\x7f', 'x]]>y & <b>"\'</b>', 'bidi \u202e\u2066 mark', '\ufffe\uffff', 'ÿ\udcff',
          '', '-- ']
pages['/labels'] = gemtext(b''.join(
    b'=> /%d 2024-01-%02d %s\n' % (n, n + 1, label.encode('utf-8', 'surrogateescape'))
    for n, label in enumerate(labels)))
urls = ['a b', '//[::1', 'http://ex ample/', '<>"&\'`{}|\\^', '%00%zz', '\x01\x02', 'javascript:alert(1)',
        'data:text/html,x', 'a' * 70_000, '\udcff\udcfe', '?q=<&>']
pages['/urls'] = gemtext(b''.join(
    b'=> %s 2024-01-%02d label\n' % (url.encode('utf-8', 'surrogateescape'), n + 1)
    for n, url in enumerate(urls)))
for path in '/labels', '/urls', '/dates':
    for form in 'atom', 'rss', 'jsonfeed', 'gemtext':
        result = run('feed', '--format', form, place + path)
        whole = True
        try:
            if form in ('atom', 'rss'):
                xml.dom.minidom.parseString(result.out)
            elif form == 'jsonfeed':
                json.loads(result.out)
        except Exception as error:
            whole = repr(error)
        controls = re.search(rb'[\0-\x08\x0b-\x1f\x7f]', result.out)
        text = result.out.decode(errors='replace')
        check('%s as %s is well-formed, without control bytes' % (path[1:], form),
              result.status == 0 and whole is True and not controls and '\u202e' not in text
              and '\ufffe' not in text, (whole, controls, seen(result)))
    html = run('get', '--render', 'html', place + path).out
    active = re.search(rb'(?i)href="(javascript|data):|<script|<b>|\son\w+=', html)
    check('%s as HTML is a fragment without script' % path[1:], html and not active, html[:400])

# Replies that cannot be a feed

pages['/html'] = gemtext('<html><body>no feed</body></html>', 'application/atom+xml')
result = run('feed', '--format', 'atom', place + '/html')
check('HTML that calls itself a feed is left out, with status 8', result.status == 8, seen(result))
pages['/image'] = gemtext(b'\x89PNG', 'image/png')
result = run('feed', place + '/image')
check('an image is left out, with status 8', result.status == 8 and result.err, seen(result))
pages['/plain'] = gemtext('# Page\n=> a A link\n')
result = run('feed', '-q', place + '/plain')
check('a page without dates names --new, even with -q',
      result.status == 0 and '--new' in result.err and b'1970-01-01T00:00:00Z' in result.out, seen(result))

# State

page = place + '/plain'
with open('later', 'w') as file:
    file.write('# smallweb watch 99\npage x\n')
result = run('watch', '--state', 'later', page)
check('a state of a later version is refused and kept', result.status not in (0, 1)
      and open('later').read().startswith('# smallweb watch 99'), seen(result))
with open('other', 'w') as file:
    file.write('my diary\n')
result = run('feed', '--state', 'other', page)
check('a file that is not a state is refused and kept', result.status not in (0, 1)
      and open('other').read() == 'my diary\n', seen(result))
run('watch', '--state', 'torn', page)
whole = open('torn', 'rb').read()
bad = []
for count in range(1, len(whole)):
    with open('torn', 'wb') as file:
        file.write(whole[:count])
    result = run('watch', '--state', 'torn', page)
    if result.status not in (0, 1) and not (count < whole.index(b'\n') + 1 and result.err):
        bad.append((count, seen(result)))
check('a state that was cut at each byte is used or refused', not bad, bad[:3])
for kind, words in (('watch', ['--diff', '--links']), ('feed', ['--new'])):
    run(kind, *words, '--state', 'full', page)
    before = open('full', 'rb').read()
    pages['/plain'] = gemtext('# Page\n=> b Another link of %s\n' % kind)
    result = run(kind, *words, '--state', 'full', page, limit=64)
    check('%s on a full disk says so and keeps the state' % kind,
          result.status not in (0, 1) and result.err and open('full', 'rb').read() == before, seen(result))
    result = run(kind, *words, '--state', 'full', page)
    check('%s finds the news after that' % kind, result.status == 0, seen(result))
    os.unlink('full')
result = run('watch', '--state', '/dev/full', page)
check('a device keeps nothing', result.status == 0, seen(result))
run('watch', '--state', 'held', page)
with open('held') as holder:
    fcntl.flock(holder, fcntl.LOCK_EX)
    result = run('watch', '--max-time', '1', '--state', 'held', page)
    check('a state that another process keeps is not waited for without end',
          result.status not in (0, 1) and result.seconds < 30, seen(result))

many = [place + '/k/%d' % n for n in range(60)]
for n in range(60):
    pages['/k/%d' % n] = gemtext('page %d\n' % n)
with open('list', 'w') as file:
    file.write('\n'.join(many) + '\n')
# The text is in the state from the start: on a slow machine no killed run may end.
run('watch', '--diff', '--state', 'killed', '@list')
for turn in range(25):
    for n in range(60):
        pages['/k/%d' % n] = gemtext('page %d of %d\n' % (n, turn))
    process = subprocess.Popen([smallweb, 'watch', '--diff', '--exec', 'cat', '--state', 'killed', '@list'],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={'HOME': work, 'PATH': os.environ['PATH']})
    # Any moment will do: each turn is killed at another one.
    try:
        process.wait(0.004 * turn)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
    result = run('watch', '--json', '--state', 'killed.copy', page)
    with open('killed', 'rb') as file:
        lines = file.read().split(b'\n')
    if lines[-1] != b'' or sum(line.startswith(b'page ') for line in lines) != 60:
        check('kill -9 leaves a whole state', False, lines[-3:])
        break
else:
    check('kill -9 leaves a whole state, 25 times', True)
result = run('watch', '--diff', '--state', 'killed', '@list')
check('after kill -9 the next run works', result.status in (0, 1) and not result.err, seen(result))
result = run('watch', '--diff', '--state', 'killed', '@list')
check('and then nothing is new', result.status == 1 and result.out.count(b'unchanged\t') == 60, seen(result))
check('no part is left', not [name for name in os.listdir('.') if name.endswith('.part')], os.listdir('.'))

run('watch', '--state', 'clock', page)
text = open('clock').read()
with open('clock', 'w') as file:
    file.write(re.sub(r'time=\d+', 'time=9999999999', text) + 'host 127.0.0.1:%d next=9999999999 failures=900\n'
               % server.server_address[1])
result = run('watch', '--state', 'clock', page)
check('a clock that was set back does not put anything off', result.status == 1, seen(result))

# Commands and expressions

changes = iter(range(1000))


def change():
    pages['/plain'] = gemtext('# Page\nchange %d\n' % next(changes))


def exec_status(command, **more):
    change()
    return run('watch', '--state', 'exec', '--exec', command, page, **more)


result = exec_status('exit 3')
check('a command that fails is a failure', result.status not in (0, 1) and 'status 3' in result.err, seen(result))
result = run('watch', '--state', 'exec', page)
check('the page is reported again', result.status == 0 and result.out.startswith(b'new'), seen(result))
result = exec_status('kill -9 $$')
check('a command that is killed is a failure', 'signal 9' in result.err, seen(result))
result = exec_status('/does/not/exist')
check('a command that is not there is a failure', 'status 127' in result.err, seen(result))
change()
with open('/dev/null', 'wb') as null:
    process = subprocess.Popen([smallweb, 'watch', '--state', 'exec', '--exec',
                                'head -c 2147483648 /dev/zero', page], stdout=subprocess.PIPE, stderr=null,
                               env={'HOME': work, 'PATH': os.environ['PATH']})
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = 0
check('a command that prints 2 GiB costs %d MiB' % (usage.ru_maxrss >> 10),
      os.waitstatus_to_exitcode(status) == 0 and usage.ru_maxrss < 96 << 10 and out.startswith(b'changed\t'), out[:80])
result = exec_status('exec </dev/null; true')
check('a command need not read its input', result.status == 0, seen(result))
change()
with open('pid', 'w'):
    pass
process = subprocess.Popen([smallweb, 'watch', '--state', 'exec', '--exec', 'echo $$ > pid; sleep 1000', page],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env={'HOME': work, 'PATH': os.environ['PATH']})
end = time.monotonic() + 120
while not open('pid').read().endswith('\n'):
    if time.monotonic() > end:
        sys.exit('waited 120 s for the command of watch --exec to begin')
    time.sleep(0.01)
child = int(open('pid').read())
process.terminate()
status = process.wait(30)
try:
    with open('/proc/%d/stat' % child) as file:
        # The shell may wait for init to fetch its status.
        left = file.read().rsplit(')')[1].split()[0] not in 'ZX'
except FileNotFoundError:
    left = False
check('SIGTERM ends a command that hangs', status == -signal.SIGTERM and not left, (status, left))

pages['/a'] = gemtext(('a' * 60_000 + '\n') * 20, 'text/plain')
for pattern in '(a+)+$b', '(a|a)*b', '(a|b)*a(a|b){200}c', '(.*)*x', '((a{10}){10})*b', '^a+*+++++++', '(){255}{255}{255}{255}b':
    begin = run('watch', '--state', 'regex', '--ignore', pattern, place + '/a')
    check('--ignore %s takes %.2f s over 1.2 MB' % (pattern, begin.processor),
          begin.status in (0, 1) and begin.processor < 20 and begin.memory < 64 * MEGABYTE, seen(begin))
for pattern in '(a)\\1', 'a{256}', '(((a{255}){255}){255})', '[', '(', 'a' * 1025:
    result = run('watch', '--state', 'regex', '--ignore', pattern, place + '/a')
    check('--ignore %s is refused' % pattern[:24], result.status == 2, seen(result))
for words in (['--every', '1s'], ['--per-host', '2'], ['-j', '4']):
    result = run('watch', *words, page)
    check('watch %s is refused' % ' '.join(words), result.status == 2 and result.err, seen(result))
result = run('watch', 'nothing-handles-this://example.org/')
check('a scheme that no plugin handles is 2', result.status == 2, seen(result))

server.shutdown()
shutil.rmtree(work)
sys.exit(failed > 0)
