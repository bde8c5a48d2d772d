// SPDX-License-Identifier: MIT
internal import SmallWeb

/// What a run owes one host: not too many requests at a time, nor too soon.
final class Host {
    let name: String
    /// Requests under way.
    var running = 0
    /// Orders that have been read and are not done.
    var orders = 0
    /// When the next request may begin.
    var notBefore = Deadline(nanoseconds: 0)
    /// Why nothing more is asked of it until then.
    private var refusal: FetchError?

    init(name: String) { self.name = name }

    /// The host asks to be left alone.
    func pause(seconds: Double, longest: Double) {
        notBefore = max(notBefore, Deadline.now.advanced(seconds: seconds))
        guard seconds > longest else { return }
        refusal = FetchError(
            .temporaryFailure, .connect,
            "the host asked to be left alone for \(Int(min(seconds, 1e9))) seconds",
            hint: "fetch it again later, or allow longer waits with --retry-max-time")
    }

    /// Why no request may wait for its turn: the host asks for longer than anybody will wait.
    func refusal(_ now: Deadline) -> FetchError? { notBefore > now ? refusal : nil }
}

/// The hosts of a run, as long as they matter.
struct HostTable {
    private var hosts: [String: Host] = [:]
    private var sweepCount = 4096

    mutating func host(_ name: String) -> Host {
        if let host = hosts[name] { return host }
        if hosts.count >= sweepCount {
            // A list may name a million of them.
            let now = Deadline.now
            hosts = hosts.filter { $0.value.orders > 0 || $0.value.notBefore > now }
            sweepCount = max(4096, 2 * hosts.count)
        }
        let host = Host(name: name)
        hosts[name] = host
        return host
    }
}

extension Deadline {
    /// `seconds` later, or earlier when they are negative.
    func advanced(seconds: Double) -> Deadline {
        let moved = Double(nanoseconds) + seconds * 1e9
        return Deadline(nanoseconds: UInt64(min(max(moved, 0), 9e18)))
    }

    /// 0 when `earlier` is later.
    func seconds(since earlier: Deadline) -> Double {
        nanoseconds > earlier.nanoseconds
            ? Double(nanoseconds - earlier.nanoseconds) / 1e9 : 0
    }
}
