# SPDX-License-Identifier: MIT
"""The pages of Tests/Recipes/pages as feeds of every format: feedparser has no complaint, and finds
the entries that the .json beside each page lists. A gemtext page is asked for by a redirect.

usage: feeds.py SMALLWEB
"""
import json
import os
import socketserver
import subprocess
import sys
import threading

import feedparser

PAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pages')


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


class Reply(socketserver.StreamRequestHandler):
    """Spartan with a redirect of /moved/, and gopher."""

    def handle(self):
        words = self.rfile.readline().split()
        isSpartan = len(words) == 3
        path = (words[1] if isSpartan else words[0]).decode()
        if path.startswith('/moved/'):
            self.wfile.write(path.replace('/moved/', '3 /pages/').encode() + b'\r\n')
            return
        with open(os.path.join(PAGES, os.path.basename(path)), 'rb') as page:
            self.wfile.write((b'2 text/gemini\r\n' if isSpartan else b'') + page.read())


def entries(document):
    feed = feedparser.parse(document)
    assert not feed.bozo, feed.bozo_exception
    return feed.feed.title, [
        (entry.id, entry.link, entry.title,
         '%04d-%02d-%02dT%02d:%02d:%02dZ' %
         tuple((entry.get('published_parsed') or entry.updated_parsed)[:6]))
        for entry in feed.entries]


def from_json(document):
    feed = json.loads(document)
    assert feed['version'] == 'https://jsonfeed.org/version/1.1'
    return feed['title'], [(item['id'], item['url'], item['title'], item['date_published'])
                           for item in feed['items']]


def feed(smallweb, form, url):
    command = [smallweb, 'feed', '-s', '--format', form, url]
    document = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    again = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    assert document == again, f'{form} differs the second time'
    return from_json(document) if form == 'jsonfeed' else entries(document)


def expected(name, place):
    with open(os.path.join(PAGES, name + '.json')) as file:
        wanted = json.load(file)
    return wanted['title'], [
        (url if '://' in url else f'{place}/{url}', title, day + 'T12:00:00Z')
        for url, title, day in wanted['entries']]


server = Server(('127.0.0.1', 0), Reply)
threading.Thread(target=server.serve_forever, daemon=True).start()
host = '127.0.0.1:%d' % server.server_address[1]
for name in sorted(os.listdir(PAGES)):
    if name.endswith('.json'):
        continue
    url = f'spartan://{host}/moved/{name}' if name.endswith('.gmi') else f'gopher://{host}/1/{name}'
    title, wanted = expected(name, f'spartan://{host}')
    for form in 'atom', 'rss', 'jsonfeed':
        seen_title, seen = feed(sys.argv[1], form, url)
        assert seen_title == (title or url), (name, form, seen_title)
        for (id, link, text, time), (wanted_url, wanted_text, wanted_time) in zip(seen, wanted):
            assert id == link == wanted_url, (name, form, id, wanted_url)
            assert time == wanted_time, (name, form, id, time)
            assert wanted_text in (None, text), (name, form, text, wanted_text)
        assert len(seen) == len(wanted), (name, form, seen)
