# SPDX-License-Identifier: MIT
"""What the fuzzers begin with: the fixtures of all plugins, and inputs made by hand."""
import functools
import glob
import os
import re
import subprocess
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))

# What parses bytes of others, and files and words of the user: `run.py coverage` says how much of
# each the corpus reaches.
PARSERS = """
Plugins/External/Manifest.swift Plugins/External/OpenPattern.swift
Plugins/External/PluginScript.swift Plugins/External/ProgramEvents.swift
Plugins/Finger/FingerPlugin.swift Plugins/Gemini/GeminiHeader.swift
Plugins/Gemini/GeminiPlugin.swift Plugins/Gemini/TitanHandler.swift Plugins/Git/Wire/Advertisement.swift
Plugins/Git/Read/ContentReader.swift Plugins/Git/Objects/Delta.swift Plugins/Git/Wire/GitAddress.swift
Plugins/Git/Wire/FetchRequest.swift Plugins/Git/Wire/GitConversation.swift Plugins/Git/Read/GitPlugin.swift
Plugins/Git/Objects/ObjectID.swift Plugins/Git/Objects/PackEntry.swift Plugins/Git/Objects/PackReader.swift
Plugins/Git/Objects/PackIndex.swift Plugins/Git/Objects/PackSpool.swift Plugins/Git/Wire/PktLine.swift
Plugins/Git/Refs/RefList.swift Plugins/Git/Objects/Tree.swift Plugins/Git/Tar/Attributes.swift
Plugins/Git/Objects/Commit.swift Plugins/Git/Tar/Conversion.swift Plugins/Git/Read/FilePatch.swift
Plugins/Git/Refs/Submodules.swift Plugins/Git/Wire/LFSBatch.swift Plugins/Git/Read/GitQuestion.swift Plugins/Git/Read/GitKeys.swift
Plugins/Git/Tar/Placeholders.swift Plugins/Git/Read/Wildmatch.swift Plugins/Gopher/GopherAddress.swift
Plugins/Gopher/GopherOpening.swift Plugins/Gopher/GopherPlugin.swift Plugins/Gopher/GopherText.swift
Plugins/HTTP/ContentRange.swift Plugins/Nex/NexPlugin.swift
Plugins/Spartan/SpartanHeader.swift Plugins/Spartan/SpartanPlugin.swift
Sources/SmallWeb/Pages/PageFeedReader.swift
Sources/SmallWeb/Identities/Bindings.swift Sources/SmallWeb/Identities/IdentityFormat.swift
Sources/SmallWeb/Pages/CharsetConverter.swift Sources/SmallWeb/Pages/Link.swift
Sources/SmallWeb/Pages/PageReader.swift
Sources/SmallWeb/Run/Shard.swift Sources/SmallWeb/Trust/KnownHosts.swift
Sources/SmallWeb/Trust/TrustFormat.swift
Sources/SmallWebArchive/Format/WarcDecoder.swift Sources/SmallWebArchive/Format/WarcHeader.swift
Sources/SmallWebArchive/Format/Turns.swift
Sources/SmallWebArchive/Replay/ChunkedBody.swift Sources/SmallWebArchive/Replay/CaptureFacts.swift
Sources/SmallWebCLI/Options/ArgumentParser.swift Sources/SmallWebCLI/Settings/Configuration.swift
Sources/SmallWebCLI/Options/OptionValue.swift Sources/SmallWebRecords/WriteOut.swift
Sources/SmallWebCLI/Reader/HandOver.swift Sources/SmallWebCLI/Reader/ReaderCommand.swift
Sources/SmallWebCLI/Reader/TypedInput.swift
Sources/SmallWebCLI/Run/OperandSource.swift Sources/SmallWebRecords/RequestLine.swift
Sources/SmallWebCLI/Subscriptions/SubscriptionState.swift
Sources/SmallWebCLI/Terminal/DisplayWidth.swift Sources/SmallWebCLI/UserFiles/Bookmarks.swift
Sources/SmallWebCLI/UserFiles/History.swift Sources/SmallWebText/Values/MediaType.swift
Sources/SmallWebCore/HTTP/HTTPClient.swift Sources/SmallWebCore/HTTP/HTTPDate.swift
Sources/SmallWebText/Framing/LineFramer.swift
Sources/SmallWebText/Base64.swift Sources/SmallWebText/Calendar.swift
Sources/SmallWebText/HeaderText.swift
Sources/SmallWebText/JSON/JSONSkimmer.swift
Sources/SmallWebText/JSON/JSONValue.swift
Sources/SmallWebText/PercentEncoding.swift Sources/SmallWebText/TerminalText.swift
Sources/SmallWebText/URI/URI+Reference.swift Sources/SmallWebText/URI/URI.swift
Sources/SmallWebCore/Text/ExtendedExpression.swift
Sources/SmallWebFormats/GopherItemType.swift Sources/SmallWebFormats/GopherMenu.swift
Sources/SmallWebFormats/HTML/HTMLBlocks.swift Sources/SmallWebFormats/HTML/HTMLCharset.swift
Sources/SmallWebFormats/HTML/HTMLElement.swift Sources/SmallWebFormats/HTML/HTMLFlow.swift
Sources/SmallWebFormats/HTML/HTMLFlow+Links.swift Sources/SmallWebFormats/HTML/HTMLFlow+Scopes.swift
Sources/SmallWebFormats/HTML/HTMLReader.swift Sources/SmallWebFormats/HTML/HTMLTag.swift
Sources/SmallWebFormats/HTML/HTMLTokenizer.swift Sources/SmallWebFormats/HTML/HTMLTokenizer+References.swift
Sources/SmallWebFormats/HTML/HTMLTokenizer+Tags.swift Sources/SmallWebFormats/HTML/HTMLTokenizer+Text.swift
Sources/SmallWebFormats/Listing.swift
Sources/SmallWebFormats/Feeds/DatedText.swift Sources/SmallWebFormats/Feeds/Feed.swift
Sources/SmallWebFormats/Feeds/FeedSniffer.swift Sources/SmallWebFormats/Feeds/FeedWriter.swift
Sources/SmallWebFormats/Feeds/PlainHeadings.swift Sources/SmallWebFormats/Markup.swift
Sources/SmallWebFormats/Markdown/MarkdownBlocks.swift
Sources/SmallWebFormats/Markdown/MarkdownBlocks+Open.swift
Sources/SmallWebFormats/Markdown/MarkdownHTML.swift
Sources/SmallWebFormats/Markdown/MarkdownInlines.swift
Sources/SmallWebFormats/Markdown/MarkdownLine.swift
Sources/SmallWebFormats/Markdown/MarkdownMarkup.swift
Sources/SmallWebFormats/Markdown/MarkdownReferences.swift
Sources/SmallWebFormats/Markdown/MarkdownTable.swift
Sources/SmallWebFormats/Markdown/MarkdownWriter.swift
Sources/SmallWebCore/Text/UnifiedDiff.swift Sources/SmallWebFormats/Gemtext.swift Sources/SmallWebCore/Libraries/Zlib.swift
Sources/SmallWebRecords/Ledger.swift Sources/SmallWebRecords/ListReader.swift
Sources/SmallWebTesting/WireCase.swift Sources/SmallWebTransport/Curl/ContentDecoder.swift
Sources/SmallWebTransport/Proxies/Proxy.swift
Sources/SmallWebTransport/Proxies/ProxyConversation.swift
Sources/SmallWebTransport/Proxies/ProxySettings.swift
Sources/SmallWebTransport/TLS/Certificates.swift
""".split()

# The order of `handlers` in ExchangeFuzz.swift.
HANDLERS = ['gemini', 'gopher', 'spartan', 'finger', 'nex', 'titan']


def escape(data):
    text = data.decode('latin-1').encode('unicode_escape').decode('ascii')
    return re.sub(r'((?:^|[^\\])(?:\\\\)*)((?:\\x00)+)(?![0-7])',
                  lambda found: found[1] + found[2].replace('\\x00', '\\0'), text)


def lines(path):
    """The inputs of a file: one a line, with Python's escapes of bytes."""
    with open(path, encoding='ascii') as file:
        return [line.rstrip('\n').encode().decode('unicode_escape').encode('latin-1')
                for line in file]


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def wires():
    names = ['Tests/PluginTests/Fixtures/*/*.wire', 'Plugins/*/fixtures/*.wire',
             'docs/examples/plugins/*/fixtures/*.wire']
    return sorted(path for name in names for path in glob.glob(os.path.join(ROOT, name)))


class Wire:
    """As much of a fixture as seeds are made of."""

    def __init__(self, path):
        self.folder = os.path.basename(os.path.dirname(path))
        self.text = read(path)
        self.url, self.replies, self.asked = b'', [], True
        for line in self.text.split(b'\n'):
            word, _, value = line.partition(b' ')
            value = value.lstrip(b' ')
            if word == b'url':
                self.url = value
            elif word == b'>':
                self.asked = True
            elif word == b'<':
                if self.asked:
                    self.replies.append(b'')
                self.asked = False
                self.replies[-1] += re.sub(
                    rb'\\(x[0-9A-Fa-f]{2}|.)', Wire.unescape, value, flags=re.S)

    @staticmethod
    def unescape(match):
        word = match.group(1)
        if word[:1] == b'x' and len(word) == 3:
            return bytes([int(word[1:], 16)])
        return {b'r': b'\r', b'n': b'\n', b't': b'\t'}.get(word, word)

    @property
    def path(self):
        """Behind the authority."""
        return self.url.partition(b'://')[2].partition(b'/')[2]


@functools.cache
def all_wires():
    return [Wire(path) for path in wires()]


@functools.cache
def shared():
    """For all targets: replies and URLs, each once."""
    found = {reply for wire in all_wires() for reply in wire.replies}
    found |= {wire.url for wire in all_wires()}
    return sorted(data for data in found if len(data) <= 4096)


def by_hand(target):
    path = os.path.join(ROOT, 'Tests/Fuzz/seeds', target)
    return lines(path) if os.path.exists(path) else []


def of_fixtures(target):
    """What is made of fixtures and documents for one target."""
    makers = {
        'wire-case': wire_cases, 'exchange': exchanges, 'git-conversation': git_conversations,
        'manifest': manifests, 'plugin-script': scripts,
        'program-events': events, 'order': orders,
        'arguments': arguments, 'configuration': configurations, 'certificate': certificates,
        'http-reply': http_replies,
    }
    return makers[target]() if target in makers else []


def wire_cases():
    return [wire.text for wire in all_wires()]


def exchanges():
    found = []
    for wire in all_wires():
        scheme = wire.url.partition(b'://')[0].decode()
        name = scheme.rstrip('s') if scheme == 'gophers' else scheme
        if name not in HANDLERS:
            continue
        flags = HANDLERS.index(name) | (8 if scheme != name else 0)
        reply = b''.join(wire.replies)
        flags |= 128 if name == 'titan' else 0
        found += [bytes([flags | more]) + wire.path + b'\n' + reply for more in (0, 16, 32, 64)]
    return [data for data in found if len(data) <= 4096]


def git_conversations():
    return [b'\0' + b'/' + wire.path.partition(b'/')[2] + b'\n'
            + b'\xff'.join(b'\1' + reply for reply in wire.replies)
            for wire in all_wires() if wire.folder == 'git']


def manifests():
    names = ['Plugins/*/plugin.json', 'docs/examples/plugins/*/plugin.json']
    return [read(path) for name in names for path in glob.glob(os.path.join(ROOT, name))]


def scripts():
    """The templates of plugins in one file, with other signs of comments, too."""
    found = []
    for path in sorted(glob.glob(os.path.join(ROOT, 'Sources/SmallWebCLI/Kit/Templates/*.txt'))):
        alone = read(path).partition(b'==  program\n')[2].replace(b'@NAME@', b'hello')
        found += [alone.replace(b'\n# ', b'\n' + sign + b' ')
                  for sign in (b'#', b'//', b'--', b';;', b'%') if alone]
    return found + [b'# smallweb: ' + data.replace(b'\n', b'\n# smallweb: ')
                    for data in manifests()]


def events():
    found = [re.sub(rb'(?m)^    (?=\{"type":)', b'', read(os.path.join(ROOT, 'docs/plugins.md')))]
    found[0] = b''.join(line + b'\n' for line in found[0].split(b'\n')
                        if line.startswith(b'{"type":'))
    for wire in all_wires():
        text = re.sub(rb'(?m)^= *\{"event":', b'{"type":', wire.text)
        text = text.replace(b'"completeness":"complete"', b'"complete":true')
        text = text.replace(b'"target":', b'"redirect":')
        found.append(b''.join(line + b'\n' for line in text.split(b'\n')
                              if line.startswith(b'{"type":') and b'"body"' not in line))
    return [data for data in found if data]


def orders():
    """The requests of the manual."""
    text = read(os.path.join(ROOT, 'docs/json.md'))
    return re.findall(rb'(?m)^ *(\{"url".*\}) *$', text)


def options():
    """All that the manual has: the long name, and what its value is called."""
    pages = sorted(glob.glob(os.path.join(ROOT, 'man/*.[157]')))
    text = b''.join(read(path) for path in pages).decode().replace('\\-', '-')
    return sorted(set(re.findall(r'--([a-z0-9][a-z0-9-]+)', text)))


VALUES = ['1', '1.5', '2k', 'true', 'gemini', 'socks5://h:1', 'ab' * 32, 'none', '1/3', 'a=b']


def arguments():
    found = [f'--{name}'.encode() for name in options()]
    found += [f'--{name}={value}'.encode() for name in options() for value in VALUES]
    return found + [b'--data\0x\0-k\0gemini://h/\0--\0-x', b'-sS', b'-o\0f', b'-of', b'--no-color']


def configurations():
    found = [f'{name} = {value}\n'.encode() for name in options() for value in VALUES]
    return found + [b'[scheme gemini]\nmax-time = 5\n[host *.example.test]\ninsecure\n',
                    b'# comment\n\nmax-time = "5"\nretry=2\n[host h]\nretry = 3\n']


CERTIFICATES = [
    ['-newkey', 'rsa:1024', '-sha1'], ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
    ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp192k1'],
    ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-521'], ['-newkey', 'ed25519'],
    ['-newkey', 'rsa:2048', '-addext', 'nsComment=x'], ['-newkey', 'rsa:512', '-md5'],
]


@functools.cache
def certificates():
    """Of each kind of key; what this OpenSSL does not make is left out."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for words in CERTIFICATES:
            result = subprocess.run(
                ['openssl', 'req', '-x509', '-nodes', '-days', '3650', '-subj', '/CN=h.test/O=\tx',
                 '-keyout', folder + '/key', '-outform', 'DER', '-addext',
                 'subjectAltName=DNS:h.test,IP:192.0.2.1,IP:2001:db8::1,email:a@h.test'] + words,
                capture_output=True, check=False)
            if result.returncode == 0:
                found.append(result.stdout)
    return found


def http_replies():
    import gzip
    body = gzip.compress(b'hello' * 20, mtime=0)
    header = b'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Range: bytes 0-4/9\r\n\r\n'
    return [header + body, header + body + body, header.replace(b'gzip', b'br') + b'x',
            b'HTTP/2 404 \nX-A:b\nbad\n: y\n\nbody', header.replace(b'0-4/9', b'0-4/*')]
