// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Option {
    static let reading: [Option] = [
        Option(
            "head", short: "I", .output, takers: [.get, .explain],
            "print status and certificate, not the body",
            manual: "The same as smallweb head: status, type, redirects, certificate and trust of "
                + "each URL, and for HTTP, where it sends HEAD, the reply header.",
            example: "smallweb get -I https://example.org/",
            .flag { settings, isOn in settings.fetch.wantsHeadAlone = isOn }),
        Option(
            "render", .output, takers: [.get, .open, .put, .explain],
            "lay pages out: as text, html or markdown",
            manual: "Whether standard output gets the bytes of a page or the page as a person "
                + "reads it: gemtext wrapped, its links and those of menus numbered, with their "
                + "URLs at the end. auto does so on a terminal alone; plain does it everywhere, "
                + "without colours; ansi with them. html and markdown make a fragment for other "
                + "programs: links are absolute, and nothing that the server wrote becomes markup "
                + "or can be run. --raw turns it off.",
            example: "smallweb get --render plain gemini://geminiprotocol.net/ | lpr",
            .value("FORM", OptionValue.choice) { $0.output.rendering = $1 }),
        Option(
            "hyperlink", .output, takers: [.get, .links, .open, .put, .explain],
            "links to click on: auto, always or never",
            manual: "Whether the links of a page that is laid out can be clicked on, in terminals "
                + "that know OSC 8. auto means where there is colour.",
            example: "smallweb open --hyperlink never gemini://geminiprotocol.net/",
            .choice("WHEN") { $0.output.hyperlinks = $1 }),
        Option(
            "all", .links, "also the lines of a menu that lead nowhere",
            manual: "Also lists the lines of a gopher menu that are text alone, without a URL.",
            example: "smallweb links --all gopher://gopher.floodgap.com/",
            .flag { settings, isOn in settings.output.listsAll = isOn }),
    ]

    /// Options of `smallweb refs`, besides those of plugins.
    static let refs: [Option] = [
        Option(
            "exit-code", .refs, "fail when nothing is listed",
            manual: "Exits with status 22 when no reference matches.",
            example: "smallweb refs --exit-code --tags git://example.org/repo.git v3.0",
            .flag { settings, isOn in settings.fetch.failsWithoutMatch = isOn })
    ]
}
