// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension Option {
    /// All options, in the order of the help texts.
    package static let all: [Option] = {
        var all = own
        let place = all.firstIndex { $0.group == .limits } ?? all.endIndex
        all.insert(contentsOf: ofPlugins, at: place)
        return all
    }()

    /// Those that no plugin declares: it takes longer to make those of plugins than all of these.
    static let own: [Option] = {
        var own: [Option] = []
        // `+=` with reserved capacity avoids the copies of chained `+`.
        own.reserveCapacity(128)
        for part in [
            output, reading, json, requests, bulk, workers, feeds, crawling, refs,
            limits, archive, connection, proxies, programs, engine, trust, identity, messages,
            daily,
        ] { own += part }
        return own
    }()

    private static let output: [Option] = [
        Option(
            .output, short: "o", .output.with(takers: .results, scope: .commandLine),
            "write the body to FILE, or to stdout for -",
            manual: "Writes the body to FILE, which appears only when it is complete. Repeatable: "
                + "the n-th is for the n-th URL. With - the body goes to standard output exactly "
                + "as received, even to a terminal.",
            example: "smallweb get -o page.gmi gemini://geminiprotocol.net/",
            .value("FILE") { settings, value in settings.output.files.append(value) }),
        Option(
            .remoteName, short: "O", .output, "write to a file named like the URL's last part",
            manual: "Writes each body without an --output to a file named after the last part of "
                + "its URL. An existing file is kept: the new one gets .1, .2 and so on.",
            example: "smallweb get -O gopher://gopher.floodgap.com/0/gopher/welcome",
            .flag { settings, isOn in settings.output.usesRemoteName = isOn }),
        Option(
            .outputDir, short: "P", .output, "where -o and -O write",
            manual: "The directory for the files of --output and --remote-name. A name that begins "
                + "with / stays as it is.",
            example: "smallweb get -O --create-dirs --output-dir new gopher://example.org/0/a.txt",
            .value("DIR") { settings, value in settings.output.directory = value }
        ).with(\.aliases, ["directory-prefix"]),
        Option(
            .tree, .output, "with -O, keep host and path as directories",
            manual: "Writes each body below a directory for its host and the directories of its "
                + "path, which are made.",
            example: "smallweb get --tree --output-dir mirror gemini://geminiprotocol.net/docs/",
            .flag { settings, isOn in
                settings.output.keepsTree = isOn
                if isOn { settings.output.usesRemoteName = true }
            }),
        Option(
            .noClobber, .output.with(takers: .results),
            "keep an existing file, rename the new one",
            manual: "Keeps an existing file: the new one gets .1, .2 and so on. --remote-name "
                + "does so by default.",
            example: "smallweb get --no-clobber -o a.gmi gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.output.existing = isOn ? .kept : .asNamed }),
        Option(
            .overwrite, .output.with(takers: .results), "replace an existing file, with -O too",
            manual: "Replaces an existing file, as --output does by default.",
            example: "smallweb get -O --overwrite gopher://example.org/0/a.txt",
            .flag { settings, isOn in settings.output.existing = isOn ? .replaced : .asNamed }
        ).with(\.aliases, ["clobber"]),
        Option(
            .skipExisting, .output.with(takers: .results), "fetch nothing when the file exists",
            manual: "Sends nothing if the file for the body exists, and counts that as success. "
                + "If only the reply has the name, nothing is written.",
            example: "smallweb get -O --skip-existing --input-file urls.txt",
            .flag { settings, isOn in settings.output.existing = isOn ? .enough : .asNamed }),
        Option(
            .ifChanged, .output.with(takers: .results),
            "leave a file alone whose bytes are the same",
            manual: "Leaves the file for the body untouched, its time too, if the same bytes come, "
                + "and replaces it otherwise, with --remote-name as well. If the server gave an "
                + "entity tag, a date or an object id, which the file has in an extended "
                + "attribute, it is asked for changes only.",
            example: "smallweb get --tree --if-changed --input-file urls.txt",
            .flag { settings, isOn in settings.output.existing = isOn ? .updated : .asNamed }),
        Option(
            .remoteTime, short: "R", .output, "a file gets the time that the server names",
            manual: "Sets the time of a file to that of the reply's Last-Modified, if it has one.",
            example: "smallweb get -R -O https://example.org/a.txt",
            .flag { settings, isOn in settings.output.takesRemoteTime = isOn }),
        Option(
            .createDirs, .output, "make missing directories",
            manual: "Makes the directories of --output and --output-dir.",
            example: "smallweb get --create-dirs -o a/b/c.gmi gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.output.createsDirectories = isOn }),
        Option(
            .fail, short: "f", .output.with(takers: [.results, .open]),
            "a refusal by the server is a failure (default)",
            manual: "A refusal by the server is reported on standard error and in the exit status. "
                + "This is the default; with --no-fail its body counts as success.",
            example: "smallweb get --no-fail gopher://example.org/0/missing",
            .flag { settings, isOn in settings.fetch.refusal = isOn ? .fail : .accept }),
        Option(
            .failWithBody, .output.with(takers: [.bodies, .open]),
            "deliver a refusal's body and fail",
            manual: "Delivers the body of a refusal, and still reports the failure. With "
                + "--continue-at or --continue there is none, since it is not the rest of a page.",
            example: "smallweb get --fail-with-body gopher://example.org/0/missing",
            .flag { settings, isOn in settings.fetch.refusal = isOn ? .failWithBody : .fail }),
        Option(
            .allowEmpty,
            .output.with(
                takers: [.get, .head, .links, .open, .verbs, .subscriptions, .crawl, .explain]),
            "an empty reply is a success",
            manual: "Counts an empty reply as success where it is otherwise a failure (exit "
                + "status 52): in Finger, in Nex, and in gopher's texts, menus and searches "
                + "without their last line. Other replies may be empty anyway.",
            example: "smallweb get --allow-empty gopher://example.org/0/empty.txt",
            .flag { settings, isOn in settings.fetch.allowsEmptyReply = isOn }),
        Option(
            .showHeaders, short: "i", .output,
            "print the reply header first",
            manual: "Prints the reply header, as received, before the body.",
            example: "smallweb get -i gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.output.showsHeader = isOn }
        ).with(\.aliases, ["include"]),
        Option(
            .dumpHeader, short: "D", .output.with(takers: .results, scope: .run),
            "write reply headers to FILE",
            manual: "Writes the reply headers to FILE; - is standard output, % standard error.",
            example: "smallweb get -D head.txt gemini://geminiprotocol.net/",
            .value("FILE") { settings, value in settings.output.headerFile = value }),
        Option(
            .continueAt, short: "C", .output.with(takers: [.get, .explain]),
            "resume at OFFSET, or - at the file's end",
            manual: "Asks for the bytes from OFFSET on, which is the size of the file, or the "
                + "first byte of a new one. With - the offset is the size of FILE.part, what an "
                + "interrupted fetch has left, which becomes FILE when it is whole; without a part "
                + "it is that of FILE itself, to which the rest is added. If the server or the "
                + "scheme cannot resume, or the file has changed on the server, that is an error, "
                + "and the files stay as they were.",
            example: "smallweb get -C - -o disk.img https://example.org/disk.img",
            .value("OFFSET") { settings, value throws(FetchError) in
                settings.fetch.resume =
                    value == "-"
                    ? .fromFile : .from(try OptionValue.size(value, "--continue-at"))
            }
        ).undone { $0.fetch.resume = .fromStart },
        Option(
            .continue, short: "c", .output.with(takers: [.get, .explain]), "the same as -C -",
            manual: "Continues the file, or FILE.part, of an interrupted fetch, as --continue-at "
                + "- does.",
            example: "smallweb get -c -O https://example.org/disk.img",
            .flag { settings, isOn in settings.fetch.resume = isOn ? .fromFile : .fromStart }),
        Option(
            .timeCond, short: "z", .output.with(takers: [.get, .head, .open]),
            "ask only for what is newer than a DATE or file",
            manual: "Asks a server with header fields for the page only if it was modified after "
                + "DATE, or after the time of a file: otherwise the fetch succeeds without a body, "
                + "and no file is written. Over every scheme there is --if-changed.",
            example: "smallweb get -z 2026-11-20 -O https://example.org/a.txt",
            .value("DATE") { settings, value throws(FetchError) in
                let condition = try RequestCondition(time: value, "--time-cond")
                if condition == nil { settings.fetch.missingFile = value }
                if settings.fetch.condition?.isTag != true { settings.fetch.condition = condition }
            }
        ).undone { $0.fetch.condition = nil },
        Option(
            .etagCompare, .output.with(takers: [.get, .head, .open], scope: .commandLine),
            "ask only for another entity tag than in FILE",
            manual: "Asks a server with header fields for the page only if its entity tag is not "
                + "the one in FILE, which may be missing. Takes precedence over --time-cond.",
            example: "smallweb get --etag-compare t --etag-save t -O https://example.org/a.txt",
            .value("FILE") { settings, value in settings.fetch.condition = .tag(file: value) }
        ).undone { $0.fetch.condition = nil },
        Option(
            .etagSave, .output.with(takers: [.get, .head, .open], scope: .commandLine),
            "write the entity tag of the reply to FILE",
            manual: "Writes the entity tag of a complete reply to FILE, for --etag-compare. A "
                + "reply without one leaves the file as it is.",
            example: "smallweb get --etag-save a.etag -O https://example.org/a.txt",
            .value("FILE") { settings, value in settings.output.tagFile = value }
        ).undone { $0.output.tagFile = nil },
        Option(
            .writeOut, short: "w", .output.with(takers: .results, scope: .run),
            "print FORMAT after each URL",
            manual: "Prints FORMAT to standard output when a URL is done, also when it failed. "
                + "%{NAME} is a field of its JSON record, such as %{status} or %{tls.version}, or "
                + "curl's name for one: %{http_code}, %{exitcode}, %{size_download}, "
                + "%{time_total}, %{url_effective} and more. %{errormsg} is the reason of a "
                + "failure or refusal. %{json} is the whole record, %{stderr} sends the rest to "
                + "standard error; \\n, \\t and %% are a line end, a tab and a per cent sign. "
                + "@FILE reads the format from a file.",
            example: "smallweb get -O -w '%{exitcode} %{url}\\n' gemini://geminiprotocol.net/",
            .value("FORMAT") { settings, value throws(FetchError) in
                if !value.hasPrefix("@") { _ = try WriteOut(value) }
                settings.output.format = value
            }),
        Option(
            .raw, .output, "bytes as received; keep gopher's doubled dots",
            manual: "Delivers the bytes as the server sent them: gopher text keeps its doubled "
                + "dots and its final dot. With diff it shows modes and ids, as 'git diff --raw "
                + "--no-abbrev' does.",
            example: "smallweb get --raw gopher://gopher.floodgap.com/0/gopher/welcome",
            .flag { settings, isOn in settings.fetch.wantsRawBody = isOn }),
    ]

    private static let reading: [Option] = [
        Option(
            .head, short: "I", .output.with(takers: [.get, .explain]),
            "print status and certificate, not the body",
            manual: "The same as smallweb head: status, type, redirects, certificate and trust of "
                + "each URL, and for HTTP, where it sends HEAD, the reply header.",
            example: "smallweb get -I https://example.org/",
            .flag { settings, isOn in settings.fetch.wantsHeadAlone = isOn }),
        Option(
            .render, .output.with(takers: [.get, .open, .put, .explain]),
            "lay pages out: as text, html or markdown",
            manual: "Lays out pages for reading: gemtext is wrapped, links of pages and menus are "
                + "numbered, with their URLs at the end. auto does so on a terminal only; plain "
                + "does it everywhere, without colours; ansi with colours. html and markdown make "
                + "a fragment for other programs: links are absolute, and no text of the server "
                + "becomes markup or can be run. text is plain. --raw turns it off.",
            example: "smallweb get --render plain gemini://geminiprotocol.net/ | lpr",
            .choice("FORM") { $0.output.rendering = $1 == .text ? .plain : $1 }),
        Option(
            .hyperlink, .output.with(takers: [.get, .links, .open, .put, .explain]),
            "clickable links: auto, always or never",
            manual: "Makes the links of a rendered page clickable, in terminals that support OSC "
                + "8. auto means with colour.",
            example: "smallweb open --hyperlink never gemini://geminiprotocol.net/",
            .choice("WHEN") { $0.output.hyperlinks = $1 }),
        Option(
            .all, .links, "also the text lines of a menu",
            manual: "Also lists the text lines of a gopher menu, which have no URL.",
            example: "smallweb links --all gopher://gopher.floodgap.com/",
            .flag { settings, isOn in settings.output.listsAll = isOn }),
    ]

    /// Options of `smallweb refs`, besides those of plugins.
    private static let refs: [Option] = [
        Option(
            .exitCode, .refs, "fail when nothing is listed",
            manual: "Exits with status 22 when no reference matches.",
            example: "smallweb refs --exit-code --tags git://example.org/repo.git v3.0",
            .flag { settings, isOn in settings.fetch.failsWithoutMatch = isOn })
    ]

    private static let requests: [Option] = [
        Option(
            .data, short: "d", .requests.with(takers: [.lists, .open, .explain]),
            "input: query, search words; @FILE reads it",
            manual: "Answers a prompt in advance: the query of a Gemini URL, the words of a gopher "
                + "search. It is encoded for you. Over HTTP and Spartan it is data instead, sent "
                + "byte for byte. @FILE reads it from a file, @- from standard "
                + "input, which keeps it out of the process list. Given again, it is joined with "
                + "&, as with curl.",
            example: "smallweb get -d 'small web' gopher://gopher.floodgap.com/7/v2/vs",
            .value("TEXT") { settings, value throws(FetchError) in
                var input = InputSource.Origin.bytes(value.systemBytes)
                if value.hasPrefix("@") { input = .file(String(value.dropFirst())) }
                let isAgain = settings.invocation.given.count { $0 == ID.data.rawValue } > 1
                if isAgain, let before = settings.fetch.input {
                    guard case .bytes(let first) = before, case .bytes(let second) = input else {
                        throw usageError("--data @FILE is for all of the data: give it once")
                    }
                    input = .bytes(first + [UInt8(ascii: "&")] + second)
                }
                settings.fetch.input = input
            }
        ).undone { ($0.fetch.input, $0.fetch.isInputSecret) = (nil, false) },
        Option(
            .netrc, .requests, "user and password from ~/.netrc",
            manual: "Sends the host's user and password from ~/.netrc, over HTTP and Git over "
                + "HTTP; for a user in the URL, the password. The file must be readable by you "
                + "alone (chmod 600). A password in the URL and an Authorization field of "
                + "--header come first. A redirect to another scheme, host or port gets neither.",
            example: "smallweb refs --netrc git+https://example.org/private.git",
            .flag { settings, isOn in settings.fetch.usesNetrc = isOn }),
        Option(
            .input, .requests.with(scope: .run), "prompt for input on a terminal (default)",
            manual: "Prompts on the terminal when a server asks for input. With --no-input it "
                + "never does.",
            example: "smallweb get --no-input gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.fetch.promptsAllowed = isOn }),
        Option(
            .location, short: "L", .requests, "follow redirects (default)",
            manual: "Follows redirects within a scheme, but to the port of another service (as 25) "
                + "over TLS alone. With --no-location they are reported and not followed.",
            example: "smallweb get --no-location gemini://geminiprotocol.net/docs",
            .flag { settings, isOn in settings.fetch.redirects.follows = isOn }),
        Option(
            .maxRedirs, .requests, "follow at most N redirects (5)",
            manual: "The maximum number of redirects of a URL.",
            example: "smallweb get --max-redirs 1 gemini://geminiprotocol.net/",
            .value("N", OptionValue.count) { $0.fetch.redirects.limit = $1 }),
        Option(
            .noPrivate, .requests, "no redirects into private networks",
            manual: "Follows no redirect to an address of this machine, a private network or a "
                + "link, such as 127.0.0.1, 10.0.0.1 and 169.254.169.254, unless the requested "
                + "URL is at such an address itself. Typed or listed URLs are not checked. Behind "
                + "a proxy that looks names up, only addresses in URLs are known.",
            example: "smallweb get --no-private https://example.org/",
            .flag { settings, isOn in settings.fetch.redirects.refusesPrivate = isOn }),
        Option(
            .proto, .requests, "allow only these schemes",
            manual: "The allowed schemes: a list such as gemini,gopher; a name with + or - in "
                + "front is added to or removed from all schemes.",
            example: "smallweb get --proto gemini,gophers gemini://geminiprotocol.net/",
            .value("LIST") { settings, value in settings.fetch.schemes = value }
        ).with(\.values, .schemes),
        Option(
            .protoRedir, .requests, "follow redirects to these other schemes",
            manual: "The schemes to which redirects may lead from others. None by default.",
            example:
                "smallweb get --proto-redir gemini gopher://example.org/hURL:gemini://example.org/",
            .value("LIST") { settings, value in settings.fetch.redirectSchemes = value }
        ).with(\.values, .schemes),
    ]

    private static let limits: [Option] = [
        Option(
            .maxTime, short: "m", .limits,
            "the whole fetch: 10, 500ms, 2m (no limit)",
            manual: "The time limit of one URL, redirects included: a number of seconds, or one "
                + "with ms, s, m, h, d or w. 0 means no limit.",
            example: "smallweb get -m 10 gemini://geminiprotocol.net/",
            .value("TIME", OptionValue.duration) { $0.fetch.totalSeconds = $1 }
        ).with(\.aliases, ["maximum-time"]),
        Option(
            .connectTimeout, .limits, "resolving, connecting and TLS (15 seconds)",
            manual: "The time limit for resolving the name, connecting and the TLS handshake "
                + "together. 0 means no limit.",
            example: "smallweb get --connect-timeout 500ms gemini://geminiprotocol.net/",
            .value("TIME", OptionValue.duration) { $0.fetch.connectSeconds = $1 }),
        Option(
            .readTimeout, .limits, "longest silence (60 seconds)",
            manual: "The longest silence of the server. 0 means no limit.",
            example: "smallweb get --read-timeout 5 gemini://geminiprotocol.net/",
            .value("TIME", OptionValue.duration) { $0.fetch.readSeconds = $1 }),
        Option(
            .limitRate, .limits, "most bytes a second of a body",
            manual: "Limits the bytes per second of a body; k, M and G are powers of 1024. It is "
                + "the limit of each URL.",
            example: "smallweb get --limit-rate 100k -O gopher://example.org/9/disk.img",
            .value("SIZE", OptionValue.size) { $0.fetch.bytesPerSecond = $1 }),
        Option(
            .maxFilesize, .limits.with(takers: .fetches.subtracting(.head)),
            "largest body: 10k, 5M (stdout: 256M)",
            manual: "The largest body. Beyond it the transfer stops and the file is removed. "
                + "k, M and G are powers of 1024. The default is 256M for standard output and no "
                + "limit for a file; 0 means no limit.",
            example: "smallweb get --max-filesize 10M -O gopher://example.org/9/disk.img",
            .value("SIZE", OptionValue.size) { $0.fetch.bodyBytesMax = $1 }),
    ]

    private static let connection: [Option] = [
        Option(
            .insecure, short: "k", .connection, "no trust decision, nothing is stored",
            manual: "Accepts any certificate and writes nothing to the trust store. The "
                + "connection is encrypted, but any server may be at its end.",
            example: "smallweb get -k gemini://localhost/",
            .flag { settings, isOn in settings.connection.skipsTrust = isOn }),
        Option(
            .ipv4, short: "4", .connection, "IPv4 addresses only",
            manual: "Connects to IPv4 addresses only.",
            example: "smallweb get -4 gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.connection.family = isOn ? .v4 : .any }),
        Option(
            .ipv6, short: "6", .connection, "IPv6 addresses only",
            manual: "Connects to IPv6 addresses only.",
            example: "smallweb get -6 gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.connection.family = isOn ? .v6 : .any }),
        Option(
            .resolve, .connection, "use ADDRESS for HOST:PORT instead of DNS",
            manual: "Connects to ADDRESS for requests to HOST and PORT. Several addresses are "
                + "separated by commas. Everything else, SNI and trust included, keeps the name.",
            example: "smallweb get --resolve example.org:1965:127.0.0.1 gemini://example.org/",
            .value("HOST:PORT:ADDRESS", OptionValue.resolve) {
                $0.connection.resolverOverrides[$1.place] = $1.addresses
            }),
    ]
}
