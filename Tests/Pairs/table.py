# SPDX-License-Identifier: MIT
"""The scene of each option: words by which it has an effect that can be seen, alone."""


class Scene:
    """The words of a command line; `stops` if their effect is that nothing is delivered.

    {web}, {other}, {unix} are filled in by run.py."""

    def __init__(self, *words, needs=(), stops=False):
        self.words, self.needs, self.stops = words, needs, stops


def flag(name, *needs, **more):
    return Scene("--" + name, needs=needs, **more)


# Files that are there before each run: `page` and others hold three bytes, `urls` a URL.
JSON = ("--json",)
SCENES = {name: flag(name) for name in (
    "remote-name if-changed fail-with-body allow-empty show-headers continue head json netrc "
    "no-private silent quiet verbose all new diff links check history robots "
    "progress-bar tags heads dates symref null long exact-match exit-code patch tar "
    "delete cache").split()}
SCENES |= {
    "continue": flag("continue", "-O"),
    "output": Scene("-o", "f"), "output-dir": Scene("--output-dir", "od", needs=("-O",)),
    "fail-early": flag("fail-early", stops=True), "tree": flag("tree", "-O"),
    "no-clobber": flag("no-clobber", "-O"),
    "overwrite": flag("overwrite", "-O"), "skip-existing": flag("skip-existing", "-O", stops=True),
    "if-changed": flag("if-changed", "-O"), "remote-time": flag("remote-time", "-O"),
    "create-dirs": flag("create-dirs", "-o", "new/f"),
    "dump-header": Scene("-D", "hd"), "continue-at": Scene("-C", "3"),
    "time-cond": Scene("-z", "2026-11-25", stops=True),
    "etag-compare": Scene("--etag-compare", "etag", stops=True),
    "etag-save": Scene("--etag-save", "tag"), "write-out": Scene("-w", "%{{size}} %{{url}}\\n"),
    "render": Scene("--render", "html"), "slice": Scene("--slice", "0:5"), "hyperlink": Scene(
        "--hyperlink", "always", needs=("--render", "plain")),
    "fields": Scene("--fields", "url,body", needs=JSON),
    "body": Scene("--body", "base64", needs=JSON), "body none": Scene("--body", "none"),
    "body file": Scene("--body", "file", needs=JSON),
    "inline-max": Scene("--inline-max", "5", needs=JSON), "stream": flag("stream", *JSON),
    "with-links": flag("with-links", *JSON), "events": flag("events", *JSON),
    "summary": flag("summary", *JSON),
    "data": Scene("-d", "words"), "max-redirs": Scene("--max-redirs", "0", stops=True),
    "proto": Scene("--proto", "gopher", stops=True), "location": Scene("--no-location"),
    "input-file": Scene("--input-file", "urls"), "retry": Scene("--retry", "1"),
    "ledger": Scene("--ledger", "lg"), "shard": Scene("--shard", "{shard}/2", stops=True),
    "only": Scene("--only", "timeout", needs=("--ledger", "known"), stops=True),
    "deadline": Scene("--deadline", "0", stops=True), "exit-status": Scene("--exit-status", "run"),
    "header": Scene("-H", "X-Own: a"), "user-agent": Scene("-A", "me"),
    "referer": Scene("-e", "http://h.test/"), "request": Scene("-X", "PURGE"),
    "max-filesize": Scene("--max-filesize", "10", stops=True),
    "warc": Scene("--warc", "w.warc"), "replay": Scene("--replay", "empty.warc", stops=True),
    "public-only": flag("public-only", stops=True),
    "offline": flag("offline", stops=True), "proxy": Scene("-x", "http://127.0.0.1:{web}"),
    "noproxy": Scene("--noproxy", "127.0.0.1", needs=("-x", "http://127.0.0.1:{web}")),
    "proxy-auth": Scene("--proxy-auth", "secret", needs=("-x", "http://127.0.0.1:{web}")),
    "connect-to": Scene("--connect-to", "127.0.0.1:{web}:127.0.0.1:{other}"),
    "unix-socket": Scene("--unix-socket", "{unix}"), "ipv6": Scene("-6", stops=True),
    "resolve": Scene("--resolve", "127.0.0.1:{web}:127.0.0.1"),
    "show-error": flag("show-error", "--silent"), "config": Scene("-K", "conf"),
    "color": Scene("--color", "always"), "progress": Scene("--progress", "json"),
    "format": Scene("--format", "rss"), "max-entries": Scene("--max-entries", "1"),
    "under": Scene("--under", "Part"), "state": Scene("--state", "st"),
    "name": Scene("--name", "mine"), "ignore": Scene("--ignore", "News"),
    "exec": Scene("--exec", "echo ran"), "scope": Scene("--scope", "any"),
    "depth": Scene("--depth", "0"), "max-pages": Scene("--max-pages", "2"),
    "per-host-pages": Scene("--per-host-pages", "1"), "include": Scene("--include", "/a"),
    "exclude": Scene("--exclude", "/a"), "types": Scene("--types", "text/plain", stops=True),
    "mirror": Scene("--mirror", "copy"), "mime": Scene("--mime", "text/plain"),
    "abbrev": Scene("--abbrev", "4"), "match": Scene("--match", "v1*"),
    "max-count": Scene("--max-count", "1"), "since": Scene("--since", "2026-11-20", stops=True),
    "cache-size": Scene("--cache-size", "1k", needs=("--cache",)),
}
# Words of other commands for the same name.
OF_COMMANDS = {
    ("refs", "format"): Scene("--format", "full"), ("log", "format"): Scene("--format", "full"),
}
TLS = "needs TLS, whose options tests of trust and identities judge; rows of the rules hold"
TIME = "changes when, not what: tests of queues and limits measure that"
ONE = "the demonstration repository has one commit, one tag, and names without a line end"
UNSHOWN = {
    "trust": TLS, "pin": TLS, "known-hosts": TLS, "identity": TLS, "cert": TLS, "key": TLS,
    "key-password-file": TLS, "insecure": TLS,
    "parallel": TIME, "jobs": TIME, "per-host": TIME, "loops": TIME, "rate": TIME,
    "per-host-delay": TIME, "retry-delay": TIME, "retry-max-time": TIME, "max-time": TIME,
    "connect-timeout": TIME, "read-timeout": TIME, "limit-rate": TIME, "ordered": TIME,
    "news": "has an effect from the second round on: WatchNewsTests", "failures-after": "the same",
    "every": "never ends", "help": "answers instead of the command", "version": "the same",
    "fail": "is the default", "input": "is the default; without a terminal nobody is asked",
    "compressed": "is the default; --no-compressed is --raw",
    "raw": "of HTTP nothing is changed; the fetch of a menu is tested with the plugin",
    "proto-redir": "needs a redirect to another scheme", "fallback-curl": "needs another scheme",
    "ipv4": "the servers have such addresses only", "resolve": "the same address",
    "retry-data": "needs --retry and --data, which are measured",
    "warc-secrets": "needs secrets", "replay-loose": "needs an archive",
    "max-age": "needs pages of an age", "cache-size": "needs many pages",
    "stop-known": "needs a ledger of the same command line: tests of ledgers have it",
    "proxy-command": "rows of the rules; proxies are tested on their own",
    "isolate": "is for SOCKS", "plugin": "adds schemes", "no-config": "there is no file",
    "as": "is for robots files of Gemini", "add": "goes with a state that is there",
    "update": "the same", "crawl": "the same, and fetches nothing",
    "prefix": "needs --tar of a repository", "strip": "the same", "lfs": "needs large files",
    "local": "is for files, not for the servers of the scenes", "base": "is for links",
    "content-type": "changes what is read, not the bytes",
    "from-dir": "needs a directory of pages: tests of local files have it",
    "no-private": "every address of the scenes is private, which the first URL allows",
    "no-embedded": "the pages of the scenes embed nothing",
    "allow-empty": "over HTTP a reply may be empty",
    "all": "is for menus of gopher", "delete": "is for Titan, which needs TLS, and for a second round of a mirror",
    "mime": "the same", "tar": "needs a repository", "exit-code": "needs a question without answer",
    "abbrev": ONE, "exact-match": ONE, "match": ONE, "max-count": ONE, "null": ONE, "patch": ONE,
    "progress": "is for transfers that take a second", "progress-bar": "is for a terminal",
    "ask-token": "asks at a terminal", "token-file": "is for Titan, which needs TLS",
    "color": "without a terminal there is none but with --render",
}

# Pairs of which one has no effect beside the other, and the sentence of the manual that says so.
PART = "decides about an older FILE once FILE.part is continued: ContinueTests has them all"
DECIDED = {
    ("body", "inline-max"): "a body that is too large is left out in any form",
    ("fields", "symref"): "--fields says which members there are",
    ("fields", "with-links"): "the same",
    ("continue", "if-changed"): PART,
    ("continue", "no-clobber"): PART,
    ("continue", "overwrite"): PART,
    ("continue", "skip-existing"): PART,
    ("continue-at", "if-changed"): PART,
    ("continue-at", "no-clobber"): PART,
    ("continue-at", "overwrite"): PART,
    ("continue-at", "skip-existing"): PART,
    ("output", "remote-name"): "--remote-name is for each body without an --output",
    ("output", "tree"): "the same",
    ("quiet", "silent"): "--silent is no messages at all",
    ("input-file", "summary"): "a list has one anyway",
    ("max-pages", "per-host-pages"): "the smaller one decides about one host",
    ("symref", "tags"): "what HEAD leads to is listed with HEAD alone",
    ("heads", "symref"): "the same",
    ("output", "overwrite"): "--output replaces by default",
    ("output", "if-changed"): "--output replaces by default what --remote-name keeps",
    ("location", "max-redirs"): "--no-location follows none, of however many",
    ("config", "user-agent"): "the command line overrides a config file",
    ("noproxy", "proxy-auth"): "a host without the proxy needs no password for it",
    ("connect-to", "proxy-auth"): "CONNECT carries it, which the proxy of the scene does not keep",
    ("ipv6", "proxy"): "explain looks up nothing for a proxy's address",
    ("connect-to", "ipv6"): "explain shows the address and dials nothing",
}
# What the one fetcher of all commands does: two of these are tried with get alone.
COMMON = set(
    "netrc max-redirs proto location header user-agent referer request cache warc replay offline"
    " proxy noproxy proxy-auth connect-to unix-socket ipv6 config retry".split())
# Results by which a command of one URL is over before the other option can matter.
FAILS = {("put", "proxy"), ("refs", "proxy"), ("refs", "unix-socket"), ("log", "proxy"),
         ("log", "unix-socket"), ("describe", "proxy"), ("describe", "unix-socket")}
