// SPDX-License-Identifier: MIT
// Fetches URLs and logs and counts what becomes of them: watched URL…
import SmallWeb

let (log, metrics) = (RunLog(), RunMetrics())
var options = RunOptions(retries: 1, retryDelay: .zero)
options.onEvent = { event in
    log.note(event)
    metrics.note(event)
}
let urls = Array(CommandLine.arguments.dropFirst())
for try await result in try Client().run(urls, options: options) {
    print(result.url, (try? result.get().outcome) ?? .internal)
}
