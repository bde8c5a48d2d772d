// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let open = Command(
        "open URL [N]", operands: [.url, .text], taker: .open
    ) { settings, operands throws(FetchError) in
        guard 1...2 ~= operands.count, !OperandSource.isList(operands[0]) else {
            throw usageError("open wants one URL", hint: "smallweb open gemini://example.org/")
        }
        let number = operands.count > 1 ? ASCII.decimal(operands[1].utf8, max: 1_000_000) : nil
        guard operands.count == 1 || number ?? 0 > 0 else {
            throw usageError("open wants the number of a link, not \"\(operands[1])\"")
        }
        var settings = settings
        var url = operands[0]
        if let marked = Bookmarks.url(titled: url) {
            // Others may have written it.
            (url, settings.fetch.readsFiles) = (marked, false)
        } else if settings.fetch.readsFiles || UserFiles.isPath(url) {
            settings.fetch.readsFiles = true
            url = settings.named([url])[0]
        }
        var reader = Reader(settings)
        return try reader.run(url, link: number)
    }
}
