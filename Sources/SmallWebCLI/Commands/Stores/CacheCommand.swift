// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebArchive
internal import SmallWebRecords

extension Command {
    static let cache = Command(
        "cache [ACTION] …",
        actions: [
            .action("list") { settings, _ throws(FetchError) in
                try settings.pageCache().forEachPage { date, bytes, url throws(FetchError) in
                    try StandardStream.output.writeForeign(
                        "\(UTCDate.second(date))\t\(bytes)\t\(url)\n")
                }
            },
            .action("size") { settings, _ throws(FetchError) in
                let rows = try settings.pageCache().sizes
                for (bytes, name) in rows + [(rows.reduce(0) { $0 + $1.bytes }, "total")] {
                    try StandardStream.output.writeForeign("\(bytes)\t\(name)\n")
                }
            },
            Command(
                "cat URL…", operands: [.url], taker: .others
            ) { settings, urls throws(FetchError) in
                var settings = settings
                settings.archive.isOffline = true
                return try GetCommand(settings, urls).run()
            }.with(\.optionNames, ["json", "output", "raw", "render"]),
            .action("clear") { settings, _ throws(FetchError) in try settings.pageCache().clear() },
        ])
}
