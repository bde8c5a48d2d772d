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
            .value("FILE") { $0.output.files.append($1) }),
        Option(
            .remoteName, short: "O", .output, .flag { $0.output.usesRemoteName = $1 }
        ).with(\.aliases, ["remote-name-all"]),
        Option(
            .remoteHeaderName, short: "J", .output, .flag { $0.output.takesServersName = $1 }
        ).with(\.aliases, ["content-disposition"]),
        Option(
            .outputDir, short: "P", .output, .value("DIR") { $0.output.directory = $1 }
        ).with(\.aliases, ["directory-prefix"]),
        Option(
            .tree, .output,
            .flag { settings, isOn in
                settings.output.keepsTree = isOn
                if isOn { settings.output.usesRemoteName = true }
            }),
        Option(
            .noClobber, .output.with(takers: .results),
            .flag { $0.output.existing = $1 ? .kept : .asNamed }),
        Option(
            .overwrite, .output.with(takers: .results),
            .flag { $0.output.existing = $1 ? .replaced : .asNamed }
        ).with(\.aliases, ["clobber"]),
        Option(
            .skipExisting, .output.with(takers: .results),
            .flag { $0.output.existing = $1 ? .enough : .asNamed }),
        Option(
            .ifChanged, .output.with(takers: .results),
            .flag { $0.output.existing = $1 ? .updated : .asNamed }),
        Option(
            .remoteTime, short: "R", .output, .flag { $0.output.takesRemoteTime = $1 }
        ).with(\.aliases, ["use-server-timestamps"]),
        Option(.createDirs, .output, .flag { $0.output.createsDirectories = $1 }),
        Option(
            .fail, short: "f", .output.with(takers: [.results, .open]),
            .flag { $0.fetch.refusal = $1 ? .fail : .accept }),
        Option(
            .failWithBody, .output.with(takers: [.bodies, .open]),
            .flag { $0.fetch.refusal = $1 ? .failWithBody : .fail }),
        Option(
            .allowEmpty,
            .output.with(
                takers: [.get, .head, .links, .open, .verbs, .subscriptions, .crawl, .explain]),
            .flag { $0.fetch.allowsEmptyReply = $1 }),
        Option(
            .showHeaders, short: "i", .output, .flag { $0.output.showsHeader = $1 }
        ).with(\.aliases, ["include", "save-headers"]),
        Option(
            .dumpHeader, short: "D", .output.with(takers: .results, scope: .run),
            .value("FILE") { $0.output.headerFile = $1 }),
        Option(
            .continueAt, short: "C", .output.with(takers: [.get, .explain]),
            .value("OFFSET") { settings, value throws(FetchError) in
                settings.fetch.resume =
                    value == "-"
                    ? .fromFile : .from(try OptionValue.size(value, "--continue-at"))
            }
        ).undone { $0.fetch.resume = .fromStart },
        Option(
            .continue, short: "c", .output.with(takers: [.get, .explain]),
            .flag { $0.fetch.resume = $1 ? .fromFile : .fromStart }),
        Option(
            .timeCond, short: "z", .output.with(takers: [.get, .head, .open]),
            .value("DATE") { settings, value throws(FetchError) in
                let condition = try RequestCondition(time: value, "--time-cond")
                if case .modifiedSince(_, let file)? = condition {
                    settings.fetch.datedFile = file
                } else {
                    settings.fetch.missingFile = value
                }
                if settings.fetch.condition?.isTag != true { settings.fetch.condition = condition }
            }
        ).undone { ($0.fetch.condition, $0.fetch.datedFile) = (nil, nil) },
        Option(
            .etagCompare, .output.with(takers: [.get, .head, .open], scope: .commandLine),
            .value("FILE") { $0.fetch.condition = .tag(file: $1) }
        ).undone { $0.fetch.condition = nil },
        Option(
            .etagSave, .output.with(takers: [.get, .head, .open], scope: .commandLine),
            .value("FILE") { $0.output.tagFile = $1 }
        ).undone { $0.output.tagFile = nil },
        Option(
            .writeOut, short: "w", .output.with(takers: .results, scope: .run),
            .value("FORMAT") { settings, value throws(FetchError) in
                if !value.hasPrefix("@") { _ = try WriteOut(value) }
                settings.output.format = value
            }),
        Option(.raw, .output, .flag { $0.fetch.wantsRawBody = $1 }),
        Option(.compressed, .output, .flag { $0.fetch.wantsRawBody = !$1 }),
    ]

    private static let reading: [Option] = [
        Option(
            .head, short: "I", .output.with(takers: [.get, .explain]),
            .flag { $0.fetch.wantsHeadAlone = $1 }),
        Option(
            .render, .output.with(takers: [.get, .open, .put, .explain]),
            .choice("FORM") {
                $0.output.rendering = $1 == .plain ? .text : $1 == .md ? .markdown : $1
            }),
        Option(
            .slice, .output.with(takers: [.get, .explain], scope: .commandLine),
            .value("START:COUNT", OptionValue.slice) { $0.records.slice = $1 }
        ).undone { $0.records.slice = nil },
        Option(
            .hyperlink, .output.with(takers: [.get, .links, .open, .put, .explain]),
            .choice("WHEN") { $0.output.hyperlinks = $1 }),
        Option(.all, .links, .flag { $0.output.listsAll = $1 }),
    ]

    /// Options of `smallweb refs`, besides those of plugins.
    private static let refs: [Option] = [
        Option(.exitCode, .refs, .flag { $0.fetch.failsWithoutMatch = $1 })
    ]

    private static let requests: [Option] = [
        Option(
            .data, short: "d", .requests.with(takers: [.lists, .open, .explain]),
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
        ).undone { ($0.fetch.input, $0.fetch.isInputSecret) = (nil, false) }
            .with(\.aliases, ["data-binary"]),
        Option(.netrc, .requests, .flag { $0.fetch.usesNetrc = $1 }),
        Option(
            .local, .requests.with(takers: .readers, scope: .commandLine),
            .flag { $0.fetch.readsFiles = $1 }),
        Option(
            .fromDir, .requests.with(takers: [.get, .open, .crawl], scope: .commandLine),
            .value("DIR") { $0.fetch.served = ($1, "") }
        ).with(\.values, .directories),
        Option(
            .contentType, .requests.with(takers: .readers, scope: .commandLine),
            .value("TYPE") { settings, value throws(FetchError) in
                settings.fetch.contentType = MediaType(parsing: value)
                guard settings.fetch.contentType == nil else { return }
                throw usageError("--content-type wants a media type, such as text/html")
            }),
        Option(
            .base, .requests.with(takers: .readers, scope: .commandLine),
            .value("URL") { $0.fetch.base = $1 }),
        Option(.input, .requests.with(scope: .run), .flag { $0.fetch.promptsAllowed = $1 }),
        Option(.location, short: "L", .requests, .flag { $0.fetch.redirects.follows = $1 }),
        Option(
            .maxRedirs, .requests,
            .value("N", OptionValue.count) { $0.fetch.redirects.limit = $1 }
        ).with(\.aliases, ["max-redirect"]),
        Option(.noPrivate, .requests, .flag { $0.fetch.redirects.refusesPrivate = $1 }),
        Option(
            .publicOnly, .requests.with(scope: .run), .flag { $0.connection.isPublicOnly = $1 }),
        Option(
            .proto, .requests, .value("LIST") { $0.fetch.schemes = $1 }
        ).with(\.values, .schemes),
        Option(
            .protoRedir, .requests, .value("LIST") { $0.fetch.redirectSchemes = $1 }
        ).with(\.values, .schemes),
    ]

    private static let limits: [Option] = [
        Option(
            .maxTime, short: "m", .limits,
            .value("TIME", OptionValue.duration) { $0.fetch.totalSeconds = $1 }
        ).with(\.aliases, ["maximum-time"]),
        Option(
            .connectTimeout, .limits,
            .value("TIME", OptionValue.duration) { $0.fetch.connectSeconds = $1 }),
        Option(
            .readTimeout, .limits,
            .value("TIME", OptionValue.duration) { $0.fetch.readSeconds = $1 }),
        Option(
            .limitRate, .limits, .value("SIZE", OptionValue.size) { $0.fetch.bytesPerSecond = $1 }),
        Option(
            .maxFilesize, .limits.with(takers: .fetches.subtracting(.head)),
            .value("SIZE", OptionValue.size) { $0.fetch.bodyBytesMax = $1 }),
    ]

    private static let connection: [Option] = [
        Option(
            .insecure, short: "k", .connection, .flag { $0.connection.skipsTrust = $1 }
        ).with(\.aliases, ["no-check-certificate"]),
        Option(
            .ipv4, short: "4", .connection, .flag { $0.connection.family = $1 ? .v4 : .any }
        ).with(\.aliases, ["inet4-only"]),
        Option(
            .ipv6, short: "6", .connection, .flag { $0.connection.family = $1 ? .v6 : .any }
        ).with(\.aliases, ["inet6-only"]),
        Option(
            .resolve, .connection,
            .value("HOST:PORT:ADDRESS", OptionValue.resolve) {
                $0.connection.resolverOverrides[$1.place] = $1.addresses
            }),
    ]
}
