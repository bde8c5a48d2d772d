// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import SmallWebCore

/// OpenSSL, loaded at the first use of TLS in the process.
final class TLSLibrary: Sendable {
    let functions: swtls_functions

    private static let loaded = Result { () throws(FetchError) in try TLSLibrary() }

    /// - Throws: `not-built-in` when libssl is not installed.
    static func shared() throws(FetchError) -> TLSLibrary { try loaded.get() }

    private init() throws(FetchError) {
        var functions = swtls_functions()
        try SystemLibrary.openSSL(isTLS: true, for: "TLS", .tls) { swtls_load($0, &functions) }
        self.functions = functions
    }

    /// The OpenSSL that a library has with it, which may have another number than ours; `nil` if it
    /// lacks a function.
    init?(of library: UnsafeMutableRawPointer) {
        var functions = swtls_functions()
        guard swtls_load(library, &functions) == nil else { return nil }
        self.functions = functions
    }

    /// The reason of the oldest queued error, as a number and as words. Empties the queue.
    func takeError() -> (reason: Int32, words: String) {
        let code = functions.ERR_get_error()
        functions.ERR_clear_error()
        let number = swtls_error_reason(code)
        if let reason = functions.ERR_reason_error_string(code) {
            return (number, String(cString: reason))
        }
        guard code != 0 else { return (0, "the connection ended") }
        var text = [CChar](repeating: 0, count: 256)
        functions.ERR_error_string_n(code, &text, text.count)
        return (number, String(buffer: text))
    }
}

/// The `SSL_CTX` of all our own connections.
//
// @unchecked: the `SSL_CTX` does not change after `init`; OpenSSL counts references to it under its
// own lock.
final class TLSContext: @unchecked Sendable {
    let library: TLSLibrary
    /// TLS 1.2 or later; certificates are judged by the trust rules, not by OpenSSL.
    let pointer: OpaquePointer
    /// A BIO over our socket: OpenSSL's own would raise SIGPIPE, and hide the reason of an end of
    /// file.
    let socketMethod: OpaquePointer

    private static let made = Result { () throws(FetchError) in try TLSContext() }

    /// - Throws: `not-built-in` when libssl is not installed.
    static func shared() throws(FetchError) -> TLSContext { try made.get() }

    private init() throws(FetchError) {
        library = try TLSLibrary.shared()
        let functions = library.functions
        // Neither openssl.cnf nor error strings are loaded: both cost start-up time.
        _ = functions.OPENSSL_init_crypto(UInt64(swtls_crypto_init_options), nil)
        _ = functions.OPENSSL_init_ssl(UInt64(swtls_init_options), nil)
        guard let context = functions.SSL_CTX_new(functions.TLS_client_method()),
            let method = functions.BIO_meth_new(Int32(BIO_TYPE_SOURCE_SINK), "smallweb socket")
        else { throw FetchError(.internal, .tls, "OpenSSL could not make a context") }
        pointer = context
        socketMethod = method
        _ = functions.SSL_CTX_ctrl(
            context, Int32(swtls_min_proto_version_command), Int(TLS1_2_VERSION), nil)
        _ = functions.SSL_CTX_ctrl(context, Int32(swtls_mode_command), Int(swtls_modes), nil)
        _ = functions.SSL_CTX_set_options(context, UInt64(swtls_options))
        functions.SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
        _ = functions.SSL_CTX_ctrl(
            context, Int32(swtls_session_cache_mode_command), Int(swtls_session_cache_modes), nil)
        functions.SSL_CTX_sess_set_new_cb(context, keepSession)
        _ = functions.BIO_meth_set_read(method, socketBIORead)
        _ = functions.BIO_meth_set_write(method, socketBIOWrite)
        _ = functions.BIO_meth_set_ctrl(method) { _, command, _, _ in
            command == BIO_CTRL_FLUSH ? 1 : 0
        }
    }
}

/// State of the BIO callbacks. Owned by ``TLSSession``, which outlives its `SSL`, which owns the
/// BIO.
final class SocketBIOState {
    var carrier: (any Carrier)?
    /// The peer's end of the stream, once seen.
    var ending: ByteStream.Ending?
    /// The last error of the carrier other than "would block".
    var failure: FetchError?
    /// True once the server has asked for a client certificate.
    var isAskedForIdentity = false
    /// True if there is a client certificate to show.
    var hasIdentity = false
    /// True if the session that is resumed was begun with the client certificate.
    var hasShownIdentityBefore = false
    var hasShownIdentity: Bool { isAskedForIdentity && hasIdentity || hasShownIdentityBefore }
    /// Cache for sessions that the server offers; `nil` to drop them.
    var sessions: (cache: TLSSessionCache, place: TLSSessionCache.Key)?
    /// The server's certificate, once read.
    var certificate: Connection.Certificate?
}

/// OpenSSL's callback for a session that the server offers to resume: during the handshake with TLS
/// 1.2, between the first bytes that are read with 1.3.
///
/// - Returns: 1 when the reference to `session` was taken.
private func keepSession(_ ssl: OpaquePointer?, _ session: OpaquePointer?) -> Int32 {
    guard let library = try? TLSLibrary.shared(), let session,
        let state = state(of: library.functions.SSL_get_rbio(ssl)),
        let (cache, place) = state.sessions
    else { return 0 }
    cache.add((session, state.certificate, state.hasShownIdentity), for: place)
    return 1
}

/// The state of a BIO; OpenSSL calls back only while its owner is inside an SSL call.
private func state(of bio: OpaquePointer?) -> SocketBIOState? {
    guard let library = try? TLSLibrary.shared(), let data = library.functions.BIO_get_data(bio)
    else { return nil }
    return Unmanaged<SocketBIOState>.fromOpaque(data).takeUnretainedValue()
}

private func socketBIORead(
    _ bio: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ count: Int32
) -> Int32 {
    guard let buffer, count > 0 else { return -1 }
    return move(bio, BIO_FLAGS_READ) { state, carrier throws(FetchError) in
        let room = UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
        switch try carrier.receive(into: room) {
        case .bytes(let count): return Int32(count)
        case .ended(let how):
            state.ending = how
            return 0
        case .wouldBlock: return nil
        }
    }
}

private func socketBIOWrite(
    _ bio: OpaquePointer?, _ buffer: UnsafePointer<CChar>?, _ count: Int32
) -> Int32 {
    guard let buffer, count > 0 else { return -1 }
    return move(bio, BIO_FLAGS_WRITE) { _, carrier throws(FetchError) in
        let bytes = UnsafeRawBufferPointer(start: buffer, count: Int(count))
        guard case .bytes(let count) = try carrier.send(bytes) else { return nil }
        return Int32(count)
    }
}

/// The shared part of read and write. `bytes` moves some bytes; `nil` if that would block.
private func move(
    _ bio: OpaquePointer?, _ direction: Int32,
    _ bytes: (SocketBIOState, any Carrier) throws(FetchError) -> Int32?
) -> Int32 {
    guard let state = state(of: bio), let carrier = state.carrier,
        let library = try? TLSLibrary.shared()
    else { return -1 }
    library.functions.BIO_clear_flags(bio, Int32(swtls_bio_flags))
    do throws(FetchError) {
        if let count = try bytes(state, carrier) { return count }
        library.functions.BIO_set_flags(bio, direction | BIO_FLAGS_SHOULD_RETRY)
    } catch {
        state.failure = error
    }
    return -1
}

/// Names and versions of the system's libraries that fetches use; `nil` for one that is not
/// installed. Loads them.
package func systemLibraries() -> [(name: String, version: String?)] {
    let openSSL = (try? TLSLibrary.shared())?.functions.OpenSSL_version(OPENSSL_VERSION_STRING)
    return [
        ("libcurl", (try? CurlLibrary.shared())?.version),
        ("OpenSSL", openSSL.map { String(cString: $0) }),
    ]
}
