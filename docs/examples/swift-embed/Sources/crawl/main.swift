// SPDX-License-Identifier: MIT
// Fetches a page and all that it leads to on the same host, each once.
// usage: crawl URL
import SmallWeb

/// This program's own names; those of the library are SmallWeb.Page and SmallWeb.Link.
struct Page {
    let url: String
    let links: [Link]

    init(_ page: SmallWeb.Page) {
        url = page.url
        links = page.links.map(Link.init)
    }
}

struct Link {
    let url: String

    init(_ link: SmallWeb.Link) { url = link.url }
}

let start = CommandLine.arguments.dropFirst().first ?? "gemini://geminiprotocol.net/"
let home = start.split(separator: "/").prefix(2).joined(separator: "//")

let client = try Client()
let queue = RunQueue()
var known: Set = [start]
try queue.push(RunRequest(start))

// The run ends when everything that was pushed has become a result.
for try await result in client.run(queue, parallel: 8, options: RunOptions(keepsOrder: false)) {
    do {
        let page = Page(try result.get())
        print(result.url, page.links.count)
        for link in page.links where link.url.hasPrefix(home + "/") {
            if known.insert(link.url).inserted { try queue.push(RunRequest(link.url)) }
        }
    } catch {
        print(error)
    }
}
