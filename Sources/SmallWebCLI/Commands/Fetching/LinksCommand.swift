// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let links = Command(
        "links URL…", "list the links of pages",
        manual: "Lists where a page leads, a line for each link: the absolute URL, a tab, the "
            + "text. It reads gemtext, gopher menus, listings of Nex and of plugins, and "
            + "directories of Git repositories. From other pages, such as HTML, it reads no links, "
            + "says so on standard error, and exits with 0. A target that is not a URL is shown "
            + "only with --json. A terminal gets columns, with the text below a long URL. ls is "
            + "another name for links.",
        examples: [
            "smallweb links gemini://geminiprotocol.net/ | cut -f1": "The URLs of a page's links",
            "smallweb links --json gopher://example.org/ | jq 'select(.type == \"link\")'":
                "A record for each of them",
        ],
        taker: .links
    ) { settings, operands throws(FetchError) in
        var settings = settings
        settings.list(.links)
        return try GetCommand(settings, operands).run()
    }.with(\.aliases, ["ls"])
}
