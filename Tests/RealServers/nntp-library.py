# SPDX-License-Identifier: MIT
"""A news server on 127.0.0.1 without TLS, by the package nntpserver, for the example plugin."""
import datetime
import types

import nntpserver

DATE = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
BODY = ".dot\n..two\n\nGrüße"


def info(number):
    return nntpserver.ArticleInfo(
        number, f"Article {number}", "ada@example.org", DATE, f"<{number}@h>", "", len(BODY), 4, {})


class Articles(dict):
    def __missing__(self, key):
        raise nntpserver.NNTPArticleNotFound


class Server(nntpserver.NNTPServer):
    allow_reuse_address = True
    articles = Articles({number: info(number) for number in (7, 8, 10)})
    groups = {"a.group": types.SimpleNamespace(
        name="a.group", short_description="A", number=3, low=7, high=10, posting_permitted="n",
        articles=articles, created=DATE)}

    def refresh(self):
        pass

    def article(self, key):
        return nntpserver.Article(self.articles[key], BODY)


with Server(("127.0.0.1", 0), nntpserver.NNTPConnectionHandler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
