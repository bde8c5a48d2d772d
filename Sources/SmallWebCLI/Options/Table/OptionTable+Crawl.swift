// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

extension Option {
    static let crawling: [Option] = [
        Option(.scope, .crawl, .choice("SCOPE") { $0.crawl.extent = $1 }),
        Option(.depth, .crawl, .value("N", OptionValue.count) { $0.crawl.depthMax = $1 }),
        Option(.maxPages, .crawl, .value("N", OptionValue.positive) { $0.crawl.pagesMax = $1 }),
        Option(
            .perHostPages, .crawl, .value("N", OptionValue.positive) { $0.crawl.placePages = $1 }),
        Option(
            .include, .crawl.with(scope: .commandLine),
            .value("RE") { settings, value throws(FetchError) in
                settings.crawl.included.append(try OptionValue.expression(value, "--include"))
            }
        ).with(\.aliases, ["accept-regex"]),
        Option(
            .exclude, .crawl,
            .value("RE") { settings, value throws(FetchError) in
                settings.crawl.excluded.append(try OptionValue.expression(value, "--exclude"))
            }
        ).with(\.aliases, ["reject-regex"]),
        Option(
            .types, .crawl,
            .value("LIST") { settings, value throws(FetchError) in
                let types = value.lowercased().split(separator: ",").map(String.init)
                guard !types.isEmpty, types.allSatisfy({ MediaType(parsing: $0) != nil }) else {
                    throw usageError("--types wants media types, such as text/gemini,image/*")
                }
                settings.crawl.mediaTypes = types
            }),
        Option(
            .robots, .crawl.with(takers: [.lists, .explain]), .flag { $0.crawl.obeysRobots = $1 }),
        Option(
            .as, .crawl.with(takers: [.crawl, .lists, .explain]),
            .value("ROLES") { settings, value throws(FetchError) in
                let roles = value.split(separator: ",").map(String.init)
                let other = roles.first { !Self.roles.contains($0) }
                guard other == nil, !roles.isEmpty else {
                    throw OptionValue.unknown(other ?? value, "--as", among: Self.roles)
                }
                settings.crawl.roles = value
            }
        ).with(\.values, .someOf { roles }),
        Option(.update, .crawl, .flag { $0.crawl.updates = $1 }),
        Option(.add, .crawl, .flag { $0.crawl.addsSeeds = $1 }),
        Option(.check, .crawl, .flag { $0.crawl.checks = $1 }),
        Option(
            .mirror, .crawl, .value("DIR") { $0.crawl.mirror = $1 }
        ).with(\.values, .directories),
        Option(.noEmbedded, .crawl, .flag { $0.crawl.leavesOutEmbedded = $1 }),
    ]

    private static let roles = ["archiver", "indexer", "researcher", "webproxy"]
}
