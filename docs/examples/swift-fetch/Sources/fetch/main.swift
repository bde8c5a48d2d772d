// SPDX-License-Identifier: MIT
// A page with its links, then the events of another fetch: fetch PAGE OTHER
import SmallWeb

let arguments = CommandLine.arguments.dropFirst()
let url = arguments.first ?? "gemini://geminiprotocol.net/"

let web = try Client()
do {
    let page = try await web.fetch(url)
    print("\(page.status, default: "no status"), \(page.mediaType, default: "no type")")
    print(page.text)
    for link in page.links { print(link.url, link.label) }

    let limits = Limits(total: .seconds(10))
    for try await event in web.events(arguments.last ?? url, limits: limits) {
        if case .body(let bytes) = event { print(bytes.count, "bytes") }
    }
} catch {
    print(error)
}
