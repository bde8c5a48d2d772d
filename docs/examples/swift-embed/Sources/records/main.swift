// SPDX-License-Identifier: MIT
// Fetches a list of URLs, 64 at a time, and prints what becomes of each as a line of JSON, as
// `smallweb get --json` does. Ctrl-C ends it; with the same ledger it goes on from there.
// usage: records LEDGER < LIST
import Foundation
import SmallWeb
import SmallWebRecords

guard CommandLine.arguments.count == 2 else {
    print("usage: records LEDGER < LIST")
    exit(2)
}

var urls: [String] = []
while let line = readLine() { urls.append(line) }

// Protocols that are compiled in, and those of the user's plugins that are programs.
let client = try Client(plugins: .withPrograms)
var options = RunOptions(perHost: 8, hostInterval: .microseconds(200), retries: 1)
options.deadline = .seconds(120)

let results = client.run(urls, parallel: 64, options: options)
let writer = RecordWriter(to: STDOUT_FILENO, ledger: CommandLine.arguments[1])
let run = Task { try await results.write(to: writer) }

signal(SIGINT, SIG_IGN)
let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
interrupt.setEventHandler { run.cancel() }
interrupt.resume()

do {
    exit(try await run.value.exitStatus)
} catch {
    FileHandle.standardError.write(Data("records: \(error)\n".utf8))
    exit(1)
}
