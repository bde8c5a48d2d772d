// SPDX-License-Identifier: MIT

/// The common stream: one connection, read and written by one task, on whatever executor.
///
/// All plugins' loops over short reads and writes are in this file; the route to a server, below
/// it, has its own, which must not read a byte beyond a proxy's reply. Received bytes live in one
/// buffer that is reused. A returned slice shares it: keeping the slice makes the next read
/// allocate, and dropping it costs nothing.
public final class ByteStream {
    /// The state of a stream. One that is handed out is connected, and has been `started`.
    public enum State: Sendable, Hashable {
        /// Nothing has been done.
        case initialised
        /// The name is looked up, the connection made, and the server's key judged.
        case starting
        /// Bytes can be read and written.
        case started
        /// The peer ended (bytes that arrived before have been delivered), we closed, or it failed.
        case stopped(FetchError?)
    }

    /// The present state.
    public private(set) var state = State.started
    /// The end of the peer's side; `nil` before it.
    public private(set) var ending: ByteStream.Ending?
    /// Bytes received so far, above TCP and TLS.
    public private(set) var bytesReceived = 0
    /// Bytes sent so far, above TCP and TLS.
    public private(set) var bytesSent = 0

    /// True if bytes go over the connection as they are.
    package var isPlain = false
    /// The scheme for the same over TLS, for advice.
    package var secureForm: String?
    /// The loop on which everything is done for a caller who may be anywhere; `nil` for one who is
    /// always there.
    package var loop: (any StreamLoop)?
    /// Keeps the thread of ``loop`` running: without it a call would wait for ever.
    package var thread: (any AnyObject & Sendable)?

    /// Released when the stream is closed.
    var carrier: (any Carrier)?
    let idleSeconds: Double?
    private let deadline: Instant
    private let onSent: ((_ bytes: [UInt8]) async throws(FetchError) -> Void)?
    var buffer: [UInt8] = []
    /// Indices in ``buffer`` of bytes not yet handed out.
    var unread = 0..<0
    /// The first error of sending, and ``bytesReceived`` at that time.
    private var sendFailure: (error: FetchError, received: Int)?

    /// Bytes to receive at once: few at first, because a stream waits for most of its life; then
    /// several TLS records. More would not stay in the processor's cache until written.
    static let capacities = (first: 4096, usual: 65_536)

    /// - Parameters:
    ///   - idleSeconds: Longest wait for one read or write to move, `nil` for none.
    ///   - deadline: End of the whole fetch.
    ///   - onSent: Called with each piece of bytes once it has gone out completely.
    package init(
        _ carrier: any Carrier, idleSeconds: Double?, deadline: Instant,
        onSent: ((_ bytes: [UInt8]) async throws(FetchError) -> Void)? = nil
    ) {
        self.carrier = carrier
        self.idleSeconds = idleSeconds
        self.deadline = deadline
        self.onSent = onSent
    }

    deinit { carrier?.close() }

    /// Sends all of `bytes`, in as few system calls as the socket's buffer allows.
    ///
    /// A peer that refuses them may have sent a reason before: the failure is thrown only by a read
    /// that finds none.
    ///
    /// - Throws: `timeout`, `interrupted`.
    public func writeAll(_ bytes: [UInt8]) async throws(FetchError) {
        if let loop = elsewhere {
            return try await loop.run { () async throws(FetchError) in
                try await writeAll(bytes)
            }
        }
        var sent = 0
        var silence = Silence(seconds: idleSeconds)
        while sent < bytes.count {
            switch try sendOnce(bytes[sent...]) {
            case .bytes(let count)?:
                sent += count
                bytesSent += count
                silence.renew()
            case .wouldBlock(let readiness)?:
                try await wait(for: readiness, in: &silence)
            case nil: return
            }
        }
        try await onSent?(bytes)
    }

    /// Sends all of `bytes`, unless the peer answers before it has them: it then wants no more.
    ///
    /// - Returns: True if all were sent; if not, the answer or its absence is there to be read.
    /// - Throws: `timeout`, `interrupted`.
    public func writeUnlessAnswered(_ bytes: [UInt8]) async throws(FetchError) -> Bool {
        if let loop = elsewhere {
            return try await loop.run { () async throws(FetchError) in
                try await writeUnlessAnswered(bytes)
            }
        }
        var sent = 0
        var silence = Silence(seconds: idleSeconds)
        while sent < bytes.count {
            guard case .wouldBlock = try receiveOnce() else { return false }
            let carrier = try openCarrier()
            // Not `sendOnce`: a peer that closed may have sent a reason before, so the stream stays
            // open.
            let written = bytes[sent...].withUnsafeBytes { piece in
                Result { () throws(FetchError) in try carrier.send(piece) }
            }
            switch written {
            case .success(.bytes(let count)):
                sent += count
                bytesSent += count
                silence.renew()
            case .success(.wouldBlock(let readiness)):
                // It may answer and read no more.
                try await wait(for: readiness == .writable ? .either : readiness, in: &silence)
            case .failure: return false
            }
        }
        return true
    }

    /// Returns received bytes, waiting for at least one; empty at the peer's end.
    ///
    /// - Parameter count: Upper limit of bytes, at least 1.
    /// - Throws: `receive`, `timeout`, `interrupted`; `usage` for less than a byte. A reset is an
    ///   ``ending``, not an error.
    public func readSome(upTo count: Int = .max) async throws(FetchError) -> ArraySlice<UInt8> {
        try Self.check(count, from: 1)
        if let loop = elsewhere {
            return try await loop.run { () async throws(FetchError) in
                try await readSome(upTo: count)
            }
        }
        if unread.isEmpty, try await !fill() { return [] }
        return take(min(count, unread.count))
    }

    /// Returns exactly `count` bytes, in arrival order.
    ///
    /// - Parameter count: 0 or more; the caller has checked it against a limit.
    /// - Throws: `truncated` if the peer ends first, `usage` for less than 0, and the errors of
    ///   ``readSome(upTo:)``.
    public func readExactly(_ count: Int) async throws(FetchError) -> ArraySlice<UInt8> {
        try Self.check(count, from: 0)
        if let loop = elsewhere {
            return try await loop.run { () async throws(FetchError) in
                try await readExactly(count)
            }
        }
        while unread.count < count {
            guard try await fill() else {
                throw FetchError(
                    .truncated, .body, "the server closed after \(unread.count) of \(count) bytes")
            }
        }
        return take(count)
    }

    /// Returns bytes up to and including the next line feed.
    ///
    /// At the peer's end, returns the rest without a line feed, and then nothing.
    ///
    /// - Parameter limit: Upper limit of bytes, the line feed included.
    /// - Throws: `protocol-error` when `limit` bytes hold no line feed, and the errors of
    ///   ``readSome(upTo:)``.
    public func readLine(upTo limit: Int) async throws(FetchError) -> ArraySlice<UInt8> {
        try Self.check(limit, from: 0)
        if let loop = elsewhere {
            return try await loop.run { () async throws(FetchError) in
                try await readLine(upTo: limit)
            }
        }
        var scanned = 0
        while true {
            let window = buffer[unread].prefix(limit)
            if let end = window.dropFirst(scanned).firstLineFeed {
                return take(end + 1 - unread.lowerBound)
            }
            scanned = window.count
            guard scanned < limit else {
                throw FetchError(.protocolError, .header, "line longer than \(limit) bytes")
            }
            guard try await fill() else { return take(unread.count) }
        }
    }

    /// Passes everything up to the peer's end to `body`, piece by piece.
    ///
    /// - Throws: The errors of ``readSome(upTo:)`` and `body`.
    public func readToEnd(
        _ body: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> ByteStream.Ending {
        if let loop = elsewhere {
            return try await loop.run { () async throws(FetchError) in
                try await readToEnd(body)
            }
        }
        var silence = Silence(seconds: idleSeconds)
        while true {
            if !unread.isEmpty {
                try await body(take(unread.count))
                silence.renew()
            }
            // Not `fill`: while bytes keep coming there is nothing to suspend for, and on a fast
            // network each `await` costs as much as the system call.
            switch try receiveOnce() {
            case .bytes: continue
            case .ended(let ending): return ending
            case .wouldBlock(let readiness): try await wait(for: readiness, in: &silence)
            }
        }
    }

    private var secureAdvice: String {
        secureForm.map { "use \($0)://" } ?? "use another port or scheme"
    }

    /// The error for a peer that ended before a required reply.
    public var endedTooSoon: FetchError {
        if bytesReceived == 0 {
            return ending == .reset
                ? FetchError(
                    .connect, .header, "the server reset the connection before any reply",
                    errnoName: "ECONNRESET",
                    hint: isPlain ? "if this port speaks TLS, \(secureAdvice)" : nil)
                : FetchError(.emptyReply, .header, "the server closed without a reply")
        }
        return ending == .reset
            ? FetchError(
                .receive, .header, "the server reset the connection within the reply's header",
                errnoName: "ECONNRESET")
            : FetchError(.protocolError, .header, "the server closed within the reply's header")
    }

    /// Closes at once: later reads and writes throw. Slices that were read before stay valid.
    public func close() {
        if case .started = state { state = .stopped(nil) }
        guard let loop = elsewhere else { return end() }
        // @unchecked: changed on the loop alone.
        nonisolated(unsafe) let stream = self
        loop.perform { stream.end() }
    }

    private func end() {
        letGo()
        unread = 0..<0
    }

    /// Closes the connection, and leaves everything else to the task that uses the stream.
    package func letGo() {
        carrier?.close()
        carrier = nil
    }

    var elsewhere: (any StreamLoop)? {
        guard let loop, !loop.isCurrent else { return nil }
        return loop
    }

    /// - Throws: The reason why the stream has stopped.
    func openCarrier() throws(FetchError) -> any Carrier {
        if case .stopped(let error?) = state { throw error }
        guard case .started = state, let carrier else {
            throw FetchError(.send, .send, "the connection is closed")
        }
        return carrier
    }

    /// Receives more after the unread bytes. False at the peer's end.
    func fill() async throws(FetchError) -> Bool {
        var silence = Silence(seconds: idleSeconds)
        while true {
            switch try receiveOnce() {
            case .bytes: return true
            case .ended: return false
            case .wouldBlock(let readiness): try await wait(for: readiness, in: &silence)
            }
        }
    }

    /// Makes free space after the unread bytes: starts over when there are none, moves them to the
    /// front or grows when the buffer is full.
    private func makeRoom() {
        if unread.isEmpty {
            unread = 0..<0
            guard buffer.count < Self.capacities.usual else { return }
            // Uninitialised, so that a small reply touches only one page of it.
            buffer = [UInt8](unsafeUninitializedCapacity: Self.capacities.usual) { $1 = $0.count }
        } else if unread.upperBound == buffer.count {
            if unread.lowerBound > buffer.count / 2 {
                buffer.replaceSubrange(0..<unread.count, with: buffer[unread])
                unread = 0..<unread.count
            } else {
                buffer += [UInt8](repeating: 0, count: max(buffer.count, Self.capacities.usual))
            }
        }
    }

    /// Makes one attempt to receive after the unread bytes.
    //
    // Not inlined, like ``sendOnce(_:)``: an async function would keep its temporaries while it
    // waits, 20 KiB for each connection.
    @inline(never)
    private func receiveOnce() throws(FetchError) -> TransportRead {
        if let ending, carrier != nil { return .ended(ending) }
        let carrier = try openCarrier()
        let isFirst = bytesReceived < Self.capacities.first
        let result = isFirst ? receiveFirst(from: carrier) : receiveIntoBuffer(from: carrier)
        let unanswered = sendFailure.flatMap { $0.received == bytesReceived ? $0.error : nil }
        let read = try result.mapError { error in
            failing(error.outcome == .receive ? unanswered ?? error : error)
        }.get()
        switch read {
        case .bytes(let count):
            unread = unread.lowerBound..<(unread.upperBound + count)
            bytesReceived += count
            if isPlain, bytesReceived == count, Self.isAlert(buffer[unread]) {
                throw failing(
                    FetchError(
                        .protocolError, .header, "the server speaks TLS at this port",
                        hint: secureAdvice))
            }
        case .ended(let ending):
            // A reset before any data is a failed connection, when sending finds it as well.
            let isReset =
                bytesSent + bytesReceived == 0
                && ["ECONNRESET", "EPIPE"].contains(unanswered?.errnoName)
            if let unanswered, !isReset { throw failing(unanswered) }
            self.ending = isReset ? .reset : ending
            state = .stopped(nil)
            return .ended(isReset ? .reset : ending)
        // Everything such a peer has sent is there already.
        case .wouldBlock: if let sendFailure { throw failing(sendFailure.error) }
        }
        return read
    }

    /// True for an alert of TLS, which a server sends instead of a reply (RFC 8446 §5.1, §6).
    private static func isAlert(_ bytes: ArraySlice<UInt8>) -> Bool {
        let header = Array(bytes.prefix(5))
        return bytes.count == 7 && header[..<2] == [21, 3] && header[2] <= 4
            && header[3...] == [0, 2]
    }

    /// Receives the beginning of a reply through a temporary buffer, so that a waiting stream has
    /// no buffer, and one with a short reply has only its size.
    private func receiveFirst(from carrier: any Carrier) -> Result<TransportRead, FetchError> {
        withUnsafeTemporaryAllocation(byteCount: Self.capacities.first, alignment: 1) { room in
            Result { () throws(FetchError) in
                let read = try carrier.receive(into: room)
                guard case .bytes(let count) = read else { return read }
                buffer = Array(buffer[unread] + room[..<count])
                unread = 0..<(buffer.count - count)
                return read
            }
        }
    }

    private func receiveIntoBuffer(
        from carrier: any Carrier
    ) -> Result<TransportRead, FetchError> {
        makeRoom()
        return buffer.withUnsafeMutableBytes { bytes in
            let free = UnsafeMutableRawBufferPointer(rebasing: bytes[unread.upperBound...])
            return Result { () throws(FetchError) in try carrier.receive(into: free) }
        }
    }

    /// Makes one attempt to send a prefix of `bytes`; `nil` when the peer takes no more.
    @inline(never)
    private func sendOnce(_ bytes: ArraySlice<UInt8>) throws(FetchError) -> TransportWrite? {
        let carrier = try openCarrier()
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(FetchError) in try carrier.send(bytes) }
        }
        if case .failure(let error) = result, error.outcome == .send {
            sendFailure = sendFailure ?? (error, bytesReceived)
            return nil
        }
        return try result.mapError(failing).get()
    }

    func wait(
        for readiness: Readiness, in silence: inout Silence
    ) async throws(FetchError) {
        do throws(FetchError) {
            try await openCarrier().wait(for: readiness, by: min(deadline, silence.limit))
        } catch {
            throw failing(error)
        }
    }

    /// Time since bytes last moved. Not every wake-up ends it: TLS has records without data.
    struct Silence {
        let seconds: Double?
        private var end: Instant?

        init(seconds: Double?) { self.seconds = seconds }

        var limit: Instant {
            mutating get {
                let limit = end ?? .end(of: seconds)
                end = limit
                return limit
            }
        }

        mutating func renew() { end = nil }
    }

    func take(_ count: Int) -> ArraySlice<UInt8> {
        let end = unread.lowerBound + count
        defer { unread = end..<unread.upperBound }
        return buffer[unread.lowerBound..<end]
    }

    /// A failure ends the stream for good.
    private func failing(_ error: FetchError) -> FetchError {
        state = .stopped(error)
        letGo()
        return error
    }
}
