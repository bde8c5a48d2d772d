# SPDX-License-Identifier: MIT
"""Every format of a feed through feedparser: no complaint, and the same entries.

usage: feeds.py SMALLWEB URL…
"""
import json
import subprocess
import sys

import feedparser


def entries(document):
    feed = feedparser.parse(document)
    assert not feed.bozo, feed.bozo_exception
    return [(entry.id, entry.link, entry.title,
             tuple((entry.get('published_parsed') or entry.updated_parsed)[:6])) for entry in feed.entries]


def from_json(document):
    feed = json.loads(document)
    assert feed['version'] == 'https://jsonfeed.org/version/1.1'
    return [(item['id'], item['url'], item['title'],
             tuple(int(part) for part in item['date_published'].rstrip('Z').replace('T', '-')
                   .replace(':', '-').split('-'))) for item in feed['items']]


smallweb, urls = sys.argv[1], sys.argv[2:]
found = {}
for form in 'atom', 'rss', 'jsonfeed':
    command = [smallweb, 'feed', '--format', form, *urls]
    document = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    again = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    assert document == again, f'{form} differs the second time'
    found[form] = from_json(document) if form == 'jsonfeed' else entries(document)
assert found['atom'] == found['rss'] == found['jsonfeed'], found
assert found['atom'], 'no entries'
print(len(found['atom']))
