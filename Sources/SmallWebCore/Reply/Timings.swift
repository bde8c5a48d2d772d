// SPDX-License-Identifier: MIT

extension Ending {
    /// Durations from the start of a fetch to its steps, by curl's names.
    ///
    /// Steps after `redirect` belong to the last hop: that of the last redirect, or of an answer.
    /// `nil` for a step that has not happened, or was not needed.
    public struct Timings: Sendable, Hashable {
        /// Unix time of the start, with its fraction.
        public let startTime: Double
        /// The last redirect was followed.
        public private(set) var redirect: Duration?
        /// The host name was resolved.
        public private(set) var nameLookup: Duration?
        /// TCP was connected.
        public private(set) var connect: Duration?
        /// The proxy had connected to the server.
        public private(set) var proxy: Duration?
        /// The TLS handshake was done and the server's key judged.
        public private(set) var appConnect: Duration?
        /// The request could be sent.
        public private(set) var preTransfer: Duration?
        /// The reply's head had come.
        public private(set) var startTransfer: Duration?
        /// The fetch was over.
        public private(set) var total: Duration?

        private let start: Instant

        /// Starts now.
        public init() {
            start = .now
            startTime = Double(wallClockNanoseconds()) / 1e9
        }

        /// Records the time of an event that happens now.
        package mutating func note(_ event: Event) {
            switch event {
            case .redirect:
                redirect = time(.now)
                beginHop()
            case .connected(let connection):
                nameLookup = time(connection.moments.resolved)
                connect = time(connection.moments.connected)
                proxy = time(connection.moments.proxied)
                appConnect = time(connection.moments.secured)
                preTransfer = time(connection.moments.ready)
            case .head:
                if startTransfer == nil { startTransfer = time(.now) }
            default: break
            }
        }

        /// Forgets the steps of a hop that another one follows.
        package mutating func beginHop() {
            (nameLookup, connect, proxy) = (nil, nil, nil)
            (appConnect, preTransfer, startTransfer) = (nil, nil, nil)
        }

        package mutating func end() { total = time(.now) }

        /// Not negative: a connection made for an earlier fetch counts as made at the start.
        private func time(_ moment: Instant?) -> Duration? {
            moment.map { .nanoseconds($0.nanoseconds &- min(start.nanoseconds, $0.nanoseconds)) }
        }
    }

    /// Bytes of protocol, above TCP and TLS, in all hops of a fetch.
    public struct Traffic: Sendable, Hashable {
        /// Bytes of requests.
        public var sent = 0
        /// Bytes of replies.
        public var received = 0

        /// These counts.
        public init(sent: Int = 0, received: Int = 0) {
            self.sent = sent
            self.received = received
        }
    }
}
