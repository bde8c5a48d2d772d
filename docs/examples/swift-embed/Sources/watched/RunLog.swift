// SPDX-License-Identifier: MIT
import Logging
import SmallWeb

/// The events of a run as lines of swift-log, without the passwords of URLs.
struct RunLog: Sendable {
    let logger = Logger(label: "smallweb")

    func note(_ event: RunOptions.Event) {
        switch event {
        case .started(let request, let attempt):
            let url = URI.display(request.url)
            logger.info("started", metadata: ["url": "\(url)", "attempt": "\(attempt)"])
        case .retrying(let request, let outcome, _):
            let url = URI.display(request.url)
            logger.info("retrying", metadata: ["url": "\(url)", "outcome": outcome.rawValue])
        case .ended(let request, let outcome, let bytes, _):
            let url = URI.display(request.url)
            logger.info(
                "ended",
                metadata: ["url": "\(url)", "outcome": outcome.rawValue, "bytes": "\(bytes)"])
        @unknown default: break
        }
    }
}
