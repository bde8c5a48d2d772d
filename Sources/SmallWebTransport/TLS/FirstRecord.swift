// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// A carrier that requires the first byte to begin a TLS record. Otherwise, plain text that a
/// server sends after it has agreed to TLS could pass as the reply to a request made over TLS.
final class FirstRecord: Carrier {
    private let carrier: any Carrier
    private var isChecked = false

    init(_ carrier: any Carrier) { self.carrier = carrier }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(FetchError) -> TransportRead {
        let read = try carrier.receive(into: buffer)
        if !isChecked, case .bytes = read {
            isChecked = true
            // An alert or a handshake message (RFC 8446 §5.1).
            guard buffer[0] == 21 || buffer[0] == 22 else {
                throw FetchError(
                    .protocolError, .tls, "the server sent plain text where TLS begins")
            }
        }
        return read
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(FetchError) -> TransportWrite {
        try carrier.send(bytes)
    }

    func wait(for readiness: Readiness, by deadline: Instant) async throws(FetchError) {
        try await carrier.wait(for: readiness, by: deadline)
    }

    func interests(_ readiness: Readiness) -> [Interest]? { carrier.interests(readiness) }
    func endSending() { carrier.endSending() }
    func close() { carrier.close() }
    var keepsPieces: Bool { carrier.keepsPieces }
}
