// SPDX-License-Identifier: MIT
// Fetches all URLs of the command line, 64 at a time, with a protocol of its own among the others.
import DaytimePlugin
import SmallWeb

let web = try Client(plugins: .builtIn.adding(DaytimePlugin()))
let urls = Array(CommandLine.arguments.dropFirst())

for try await result in web.run(urls, parallel: 64, options: RunOptions(retries: 2)) {
    do {
        let page = try result.get()
        print(result.index, page.outcome, page.body.count, page.text.prefix { !$0.isNewline })
    } catch {
        print(result.index, error)
    }
}
