// SPDX-License-Identifier: MIT

// Messages, the beginning of a reply, and the end of one direction.

extension ByteStream {
    /// A trap would end the program for a number that a peer may have sent.
    static func check(_ count: Int, from least: Int) throws(FetchError) {
        guard count < least else { return }
        throw usageError("\(count) bytes are to be read, and \(least) is the least")
    }

    /// Sends all bytes of any sequence, as of an array. One that is not an array is copied once.
    ///
    /// - Throws: `timeout`, `interrupted`.
    @inlinable
    public func writeAll(_ bytes: some Sequence<UInt8>) async throws(FetchError) {
        try await writeAll(Array(bytes))
    }

    /// Ends writing: the peer finds the end of the bytes, and may go on sending. Over TLS that is a
    /// close_notify, which some servers take for the end of all. A later write fails with `usage`.
    ///
    /// - Throws: `timeout`, `interrupted`, and the reason why the stream has stopped.
    public func finishWriting() async throws(FetchError) {
        if let loop = elsewhere {
            return try await loop.run { () async throws(FetchError) in try await finishWriting() }
        }
        guard ending == nil else { return }
        let carrier = try openCarrier()
        var silence = Silence(seconds: idleSeconds)
        while !carrier.finishSending() { try await wait(for: .writable, in: &silence) }
        self.carrier = BoundedCarrier(carrier, receivesMax: .max, sends: false)
    }

    /// Returns the next message; `nil` at the peer's end, if that is not within one.
    ///
    /// - Parameter framer: Must bound its messages: as many bytes as it needs are held in memory.
    /// - Throws: `truncated` if the peer ends within a message, errors of `framer`, and those of
    ///   ``readSome(upTo:)``.
    public func readMessage<Message>(
        by framer: some Framer<Message>
    ) async throws(FetchError) -> Message? {
        if let loop = elsewhere {
            return try await loop.run { () async throws(FetchError) in
                try await readMessage(by: framer)
            }
        }
        while true {
            let count = try framer.needs(buffer[unread])
            // Messages without bytes would never end.
            try Self.check(count, from: 1)
            if count <= unread.count { return try framer.unframe(take(count)) }
            if try await fill() { continue }
            guard !unread.isEmpty else { return nil }
            throw FetchError(
                .truncated, .body, "the server closed after \(unread.count) bytes of a message")
        }
    }

    /// Ends the stream with `too-large` once more than `count` bytes have come.
    package func limitReceived(to count: Int) {
        carrier = carrier.map { BoundedCarrier($0, receivesMax: count, sends: true) }
    }

    /// Waits for the first byte of a required reply, without consuming it: for protocols whose
    /// replies are a body alone.
    ///
    /// - Throws: ``endedTooSoon`` without a byte, unless the request allows that; the errors of
    ///   ``readSome(upTo:)``.
    public func awaitReply(to request: Request) async throws(FetchError) {
        if let loop = elsewhere {
            return try await loop.run { () async throws(FetchError) in
                try await awaitReply(to: request)
            }
        }
        if !unread.isEmpty { return }
        if try await fill() { return }
        try acceptEmptyReply(to: request)
    }

    /// Handles a peer that ended without a byte.
    ///
    /// - Throws: ``endedTooSoon``, unless the request allows an empty reply.
    public func acceptEmptyReply(to request: Request) throws(FetchError) {
        guard !request.allowsEmptyReply || ending == .reset else { return }
        var error = endedTooSoon
        if error.outcome == .emptyReply { error.remedy = .allowEmptyReply }
        throw error
    }
}
