// SPDX-License-Identifier: MIT
import Logging
import SmallWeb

/// The events of a run as lines of swift-log.
struct RunLog: Sendable {
    let logger = Logger(label: "smallweb")

    func note(_ event: RunOptions.Event) {
        switch event {
        case .started(let request, let attempt):
            logger.info("started", metadata: ["url": request.url, "attempt": "\(attempt)"])
        case .retrying(let request, let outcome, _):
            logger.info("retrying", metadata: ["url": request.url, "outcome": outcome.rawValue])
        case .ended(let request, let outcome, let bytes, _):
            logger.info(
                "ended",
                metadata: ["url": request.url, "outcome": outcome.rawValue, "bytes": "\(bytes)"])
        @unknown default: break
        }
    }
}
