// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebArchive
internal import SmallWebRecords

extension Command {
    static let cache = Command(
        "cache [ACTION] …", "the pages that were kept to be read again",
        manual: "Works on the archives of --cache, $XDG_CACHE_HOME/smallweb/pages-N.warc.gz, which "
            + "'smallweb warc' and other programs read, too. --cache-size says how large they may "
            + "become.",
        examples: [
            "smallweb cache": "What there is",
            "smallweb cache cat gemini://geminiprotocol.net/ > page.gmi": "A page of it",
            "smallweb cache clear": "Remove all pages",
        ],
        actions: [
            .action(
                "list", "time, size and URL of each page",
                manual: "Prints a line for each page, by its URL, with tabs between: when it was "
                    + "fetched, its bytes in the cache, and its URL. Of several recordings each "
                    + "has a line."
            ) { settings, _ throws(FetchError) in
                try settings.pageCache().forEachPage { date, bytes, url throws(FetchError) in
                    try StandardStream.output.writeForeign(
                        "\(UTCDate.second(date))\t\(bytes)\t\(url)\n")
                }
            },
            .action(
                "size", "size of each archive, and of all",
                manual:
                    "Prints a line for each archive with its index, bytes and name, and one for "
                    + "all."
            ) { settings, _ throws(FetchError) in
                let rows = try settings.pageCache().sizes
                for (bytes, name) in rows + [(rows.reduce(0) { $0 + $1.bytes }, "total")] {
                    try StandardStream.output.writeForeign("\(bytes)\t\(name)\n")
                }
            },
            Command(
                "cat URL…", "print pages of it",
                manual: "The same as 'smallweb get --offline URL', which takes all options of get.",
                examples: [
                    "smallweb cache cat gemini://geminiprotocol.net/ > page.gmi": "Take a page out"
                ],
                operands: [.url], taker: .others
            ) { settings, urls throws(FetchError) in
                var settings = settings
                settings.archive.isOffline = true
                return try GetCommand(settings, urls).run()
            }.with(\.optionNames, ["json", "output", "raw", "render"]),
            .action(
                "clear", "remove all pages",
                manual: "Removes all pages. What completion knows of repositories stays."
            ) { settings, _ throws(FetchError) in try settings.pageCache().clear() },
        ])
}
