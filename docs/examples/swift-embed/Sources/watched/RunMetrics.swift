// SPDX-License-Identifier: MIT
import Metrics
import SmallWeb

/// The events of a run as counters and timers of swift-metrics.
struct RunMetrics: Sendable {
    func note(_ event: RunOptions.Event) {
        switch event {
        case .started: Counter(label: "smallweb_attempts").increment()
        case .retrying: Counter(label: "smallweb_retries").increment()
        case .ended(_, let outcome, let bytes, let duration):
            Counter(label: "smallweb_fetches", dimensions: [("outcome", outcome.rawValue)])
                .increment()
            Counter(label: "smallweb_bytes").increment(by: bytes)
            Timer(label: "smallweb_fetch").recordMilliseconds(
                Int(duration / .milliseconds(1)))
        @unknown default: break
        }
    }
}
