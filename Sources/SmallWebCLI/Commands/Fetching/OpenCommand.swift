// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let open = Command(
        "open URL [N]", "read pages with a pager, follow links",
        manual: "Lays a page out for reading and shows it with a pager: gemtext and plain text "
            + "wrapped to the width of the terminal, links, gopher menus, listings of Nex and "
            + "directories of Git repositories numbered, their URLs at the end. With N it opens "
            + "the page that this link leads to. The title of a bookmark stands for its URL. "
            + "On a terminal the first line of a page is its "
            + "URL, and after it smallweb asks what to do next; --no-input asks nothing. The "
            + "number of a link and Enter open that link. A key acts at once, and an Enter behind "
            + "it changes nothing: "
            + ReaderCommand.table.map { "\($0.key)\($0.rest) \($0.meaning)" }.joined(
                separator: "; ")
            + ". Ctrl-D ends the session, too. When a page fails to load, the page before it "
            + "stays. The exit status is that of the page that was asked for last. Where a page "
            + "asks for a client certificate, i lists the identities and makes new ones, for its "
            + "URL and what lies below. What cannot be shown as text can be "
            + "saved or opened with xdg-open. No file that exists is replaced: a name that is "
            + "taken gets .1, .2 and so on, as with -O of smallweb get. "
            + "A link that is marked (input), as the pages of Spartan have them, is asked for what "
            + "it sends; --data answers for N, or else for URL. "
            + "The pager is that of PAGER, by "
            + "default less; there is none when PAGER is empty or cat, and none when standard "
            + "output is not a terminal.",
        examples: [
            "smallweb open gemini://geminiprotocol.net/": "Read a page",
            "smallweb open gemini://geminiprotocol.net/ 1": "Read what its first link leads to",
            "smallweb open -d hello spartan://example.org/ 2": "Send a text to its second link",
            "PAGER= smallweb open gopher://gopher.floodgap.com/": "The same without a pager",
        ],
        operands: [.url, .text], taker: .open
    ) { settings, operands throws(FetchError) in
        guard 1...2 ~= operands.count, !OperandSource.isList(operands[0]) else {
            throw usageError("open wants one URL", hint: "smallweb open gemini://example.org/")
        }
        let number = operands.count > 1 ? ASCII.decimal(operands[1].utf8, max: 1_000_000) : nil
        guard operands.count == 1 || number ?? 0 > 0 else {
            throw usageError("open wants the number of a link, not \"\(operands[1])\"")
        }
        var reader = Reader(settings)
        let url = Bookmarks.url(titled: operands[0]) ?? operands[0]
        return try reader.run(url, link: number)
    }
}
