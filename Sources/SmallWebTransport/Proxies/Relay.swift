// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Copies bytes both ways between two carriers until one side ends.
struct Relay {
    /// One direction, with at most one buffer of pending bytes.
    private struct Flow {
        private var buffer = [UInt8](repeating: 0, count: 65_536)
        private var pending = 0..<0
        private var hasEnded = false
        /// The readiness that the last ``move(from:to:)`` lacked.
        private(set) var obstacle: (carrier: any Carrier, readiness: Readiness)?

        /// True if the source has ended and all its bytes have been sent.
        var isOver: Bool { hasEnded && pending.isEmpty }

        /// Drops pending bytes; nothing more can be sent.
        mutating func end() {
            hasEnded = true
            pending = 0..<0
            obstacle = nil
        }

        /// - Returns: True if any bytes have moved.
        mutating func move(
            from source: any Carrier, to sink: any Carrier
        ) throws(FetchError) -> Bool {
            obstacle = nil
            var hasMoved = false
            if pending.isEmpty && !hasEnded {
                var room = buffer.mutableSpan
                switch try room.withUnsafeMutableBytes(source.receive) {
                case .bytes(let count):
                    pending = 0..<count
                    hasMoved = true
                case .wouldBlock(let readiness): obstacle = (source, readiness)
                case .ended: hasEnded = true
                }
            }
            guard !pending.isEmpty else { return hasMoved }
            switch try buffer.span.extracting(pending).bytes.withUnsafeBytes(sink.send) {
            case .bytes(let count):
                pending = pending.dropFirst(count)
                hasMoved = true
            case .wouldBlock(let readiness): obstacle = (sink, readiness)
            }
            return hasMoved
        }
    }

    let loop: EventLoop
    let near: any Carrier
    let far: any Carrier

    /// Returns when the near side has ended, or the far side has and its last bytes are delivered,
    /// or the task is cancelled.
    ///
    /// - Throws: Errors of the far carrier. They are a normal end, except `proxy`.
    func run() async throws(FetchError) {
        var (up, down) = (Flow(), Flow())
        var isRefused = false
        while true {
            var hasMoved = false
            do throws(FetchError) {
                if !isRefused { hasMoved = try up.move(from: near, to: far) }
            } catch {
                // The server may have sent the reason before it stopped reading.
                isRefused = true
                up.end()
            }
            if try down.move(from: far, to: near) { hasMoved = true }
            if down.isOver || up.isOver && !isRefused { return }
            if hasMoved { continue }
            let obstacles = [up.obstacle, down.obstacle].compactMap { $0 }
            let interests = obstacles.map { $0.carrier.interests($0.readiness) }
            // After the end of a turn no edge follows: only yield.
            let isTurnOver = interests.contains { $0 == nil }
            let result = await loop.wait(
                for: isTurnOver ? [] : interests.flatMap { $0 ?? [] },
                by: isTurnOver ? .now : .never)
            if result == .cancelled { return }
        }
    }
}
