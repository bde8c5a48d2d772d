// SPDX-License-Identifier: MIT

/// The common stream: one connection, read and written by one task.
///
/// All loops over short reads and short writes of plugins are in this file; below it, the route to
/// a server has those that must not read a byte beyond a proxy's reply. Received bytes live in one
/// buffer that is reused; a returned slice shares it, so a caller that keeps a slice makes the next
/// read allocate, and one that does not costs nothing.
public final class ByteStream {
    /// How far a stream has come.
    public enum State: Sendable, Hashable {
        case started
        /// The peer ended (what arrived before has been delivered), we closed, or it failed.
        case stopped(FetchError?)
    }

    /// How far it has come.
    public private(set) var state = State.started
    /// How the peer ended its side; `nil` while it has not.
    public private(set) var ending: ByteStream.Ending?
    /// Bytes moved so far, above TCP and TLS.
    public private(set) var bytesReceived = 0
    /// Bytes of protocol that the peer's side has taken.
    public private(set) var bytesSent = 0

    /// Let go of when the stream is closed.
    private var carrier: (any Carrier)?
    private let idleSeconds: Double
    private let deadline: Instant
    private let onSent: ((_ bytes: [UInt8]) async throws(FetchError) -> Void)?
    private var buffer: [UInt8] = []
    /// The received bytes not yet handed out.
    private var unread = 0..<0
    /// Why a request did not go out in full, and what had been received by then.
    private var sendFailure: (error: FetchError, received: Int)?

    /// How much is received at once: little at first, for a stream waits for most of its life; then
    /// several TLS records. More would not stay in the processor's cache until it is written.
    static let capacities = (first: 4096, usual: 65_536)

    /// - Parameters:
    ///   - idleSeconds: Longest wait for one read or write to move, 0 for none.
    ///   - deadline: End of the whole fetch.
    ///   - onSent: Called with each piece of bytes once it has gone out completely.
    package init(
        _ carrier: any Carrier, idleSeconds: Double, deadline: Instant,
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
    /// A peer that refuses them may have said why before, which is there to be read: the failure is
    /// thrown where nothing is.
    ///
    /// - Throws: `timeout`, `interrupted`.
    public func writeAll(_ bytes: [UInt8]) async throws(FetchError) {
        var sent = 0
        var silence = Silence(seconds: idleSeconds)
        while sent < bytes.count {
            switch try sendOnce(bytes[sent...]) {
            case .bytes(let count)?:
                sent += count
                bytesSent += count
                silence.end()
            case .wouldBlock(let readiness)?:
                try await wait(for: readiness, in: &silence)
            case nil: return
            }
        }
        try await onSent?(bytes)
    }

    /// Sends all of `bytes`, unless the peer answers before it has them: it then wants no more.
    ///
    /// - Returns: Whether all went out; if not, the answer or its absence is there to be read.
    /// - Throws: `timeout`, `interrupted`.
    public func writeUnlessAnswered(_ bytes: [UInt8]) async throws(FetchError) -> Bool {
        var sent = 0
        var silence = Silence(seconds: idleSeconds)
        while sent < bytes.count {
            guard case .wouldBlock = try receiveOnce() else { return false }
            let carrier = try openCarrier()
            // Not `sendOnce`: a peer that closed may have said why before, so the stream stays.
            let written = bytes[sent...].withUnsafeBytes { piece in
                Result { () throws(FetchError) in try carrier.send(piece) }
            }
            switch written {
            case .success(.bytes(let count)):
                sent += count
                bytesSent += count
                silence.end()
            case .success(.wouldBlock(let readiness)):
                // It may answer and read no more.
                try await wait(for: readiness == .writable ? .either : readiness, in: &silence)
            case .failure: return false
            }
        }
        return true
    }

    /// Returns what has arrived, waiting for at least one byte; empty at the peer's end.
    ///
    /// - Parameter count: Most bytes wanted, at least 1.
    /// - Throws: `receive`, `timeout`, `interrupted`. A reset is an ``ending``, not an error.
    public func readSome(upTo count: Int = .max) async throws(FetchError) -> ArraySlice<UInt8> {
        precondition(count > 0)
        if unread.isEmpty, try await !fill() { return [] }
        return take(min(count, unread.count))
    }

    /// Returns exactly `count` bytes, in arrival order.
    ///
    /// - Parameter count: 0 or more; the caller has checked it against a limit.
    /// - Throws: `truncated` if the peer ends first, and what ``readSome(upTo:)`` throws.
    public func readExactly(_ count: Int) async throws(FetchError) -> ArraySlice<UInt8> {
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
    /// At the peer's end the rest comes without a line feed, and then nothing: what arrived before
    /// the end is delivered before the end is.
    ///
    /// - Parameter limit: Most bytes, the line feed included.
    /// - Throws: `protocol-error` when `limit` bytes hold no line feed, and what
    ///   ``readSome(upTo:)`` throws.
    public func readLine(upTo limit: Int) async throws(FetchError) -> ArraySlice<UInt8> {
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

    /// Gives everything up to the peer's end to `body`, piece by piece.
    ///
    /// - Throws: What ``readSome(upTo:)`` and `body` throw.
    public func readToEnd(
        _ body: (ArraySlice<UInt8>) async throws(FetchError) -> Void
    ) async throws(FetchError) -> ByteStream.Ending {
        var silence = Silence(seconds: idleSeconds)
        while true {
            if !unread.isEmpty {
                try await body(take(unread.count))
                silence.end()
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

    /// Waits for the first byte of a reply that must have one, which is read afterwards as if this
    /// had not been: for protocols in which the body is all there is.
    ///
    /// - Throws: ``endedTooSoon`` when there is none, unless the request allows that; what
    ///   ``readSome(upTo:)`` throws.
    public func awaitReply(to request: Request) async throws(FetchError) {
        if !unread.isEmpty { return }
        if try await fill() { return }
        try acceptEmptyReply(to: request)
    }

    /// The peer has ended without a byte.
    ///
    /// - Throws: ``endedTooSoon``, unless the request allows an empty reply.
    public func acceptEmptyReply(to request: Request) throws(FetchError) {
        guard !request.allowsEmptyReply || ending == .reset else { return }
        var error = endedTooSoon
        if error.outcome == .emptyReply { error.remedy = .allowEmptyReply }
        throw error
    }

    /// The error for a peer that ended before the reply that its protocol requires.
    public var endedTooSoon: FetchError {
        if bytesReceived == 0 {
            return ending == .reset
                ? FetchError(
                    .connect, .header, "the server reset the connection before any reply",
                    errnoName: "ECONNRESET")
                : FetchError(.emptyReply, .header, "the server closed without a reply")
        }
        return ending == .reset
            ? FetchError(
                .receive, .header, "the server reset the connection within the reply's header",
                errnoName: "ECONNRESET")
            : FetchError(.protocolError, .header, "the server closed within the reply's header")
    }

    /// Closes at once. Slices that were read before stay valid.
    public func close() {
        letGo()
        if case .stopped = state { return }
        state = .stopped(nil)
    }

    private func letGo() {
        carrier?.close()
        carrier = nil
    }

    /// - Throws: Why nothing can be moved any more.
    private func openCarrier() throws(FetchError) -> any Carrier {
        if case .stopped(let error?) = state { throw error }
        guard state == .started, let carrier else {
            throw FetchError(.send, .send, "the connection is closed")
        }
        return carrier
    }

    /// Receives more behind the unread bytes. False at the peer's end.
    private func fill() async throws(FetchError) -> Bool {
        var silence = Silence(seconds: idleSeconds)
        while true {
            switch try receiveOnce() {
            case .bytes: return true
            case .ended: return false
            case .wouldBlock(let readiness): try await wait(for: readiness, in: &silence)
            }
        }
    }

    /// Leaves free space behind the unread bytes: starts over when there are none, moves them to
    /// the front or grows when the buffer is full.
    private func makeRoom() {
        if unread.isEmpty {
            unread = 0..<0
            guard buffer.count < Self.capacities.usual else { return }
            // Left uninitialised: a small reply touches one page of it.
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

    /// One attempt to receive behind the unread bytes.
    //
    // Not inlined, like ``sendOnce(_:)``: within an async function what it works with would be kept
    // while that waits, 20 KiB for each connection.
    @inline(never)
    private func receiveOnce() throws(FetchError) -> TransportRead {
        if let ending { return .ended(ending) }
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
        case .ended(let ending):
            if let unanswered { throw failing(unanswered) }
            self.ending = ending
            state = .stopped(nil)
        // All that such a peer has said is there already.
        case .wouldBlock: if let sendFailure { throw failing(sendFailure.error) }
        }
        return read
    }

    /// The beginning of a reply, by way of room that is given back at once: a stream that waits for
    /// it has no buffer, and one with a short reply no larger one than that.
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

    /// One attempt to send a prefix of `bytes`; `nil` when the peer takes no more.
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

    private func wait(
        for readiness: Readiness, in silence: inout Silence
    ) async throws(FetchError) {
        do throws(FetchError) {
            try await openCarrier().wait(for: readiness, by: min(deadline, silence.limit))
        } catch {
            throw failing(error)
        }
    }

    /// The time since bytes last moved. Not every wake-up ends it: TLS has records without data.
    private struct Silence {
        let seconds: Double
        private var began: Instant?

        init(seconds: Double) { self.seconds = seconds }

        var limit: Instant {
            mutating get {
                let limit = began ?? .after(seconds: seconds)
                began = limit
                return limit
            }
        }

        mutating func end() { began = nil }
    }

    private func take(_ count: Int) -> ArraySlice<UInt8> {
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
