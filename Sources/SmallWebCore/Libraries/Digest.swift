// SPDX-License-Identifier: MIT
internal import CSmallWebCrypto

/// A cryptographic hash of bytes that arrive in arbitrary pieces, by OpenSSL.
///
/// One object hashes any number of messages, one after the other.
package final class Digest {
    package enum Algorithm: Sendable, Hashable, CaseIterable {
        case sha1, sha256

        /// The length of a digest in bytes.
        package var byteCount: Int {
            switch self {
            case .sha1: 20
            case .sha256: 32
            }
        }
    }

    package let algorithm: Algorithm
    private let functions: swcrypto_functions
    private let context: OpaquePointer
    /// True from the end of a message until bytes of another come.
    private var isOver = false

    /// - Throws: `not-built-in` when libcrypto is not installed, or refuses the algorithm.
    package init(_ algorithm: Algorithm) throws(FetchError) {
        self.algorithm = algorithm
        let library = try CryptoLibrary.shared()
        functions = library.functions
        guard let context = functions.EVP_MD_CTX_new() else {
            throw FetchError(.internal, .input, "OpenSSL could not make a digest")
        }
        self.context = context
        let function =
            switch algorithm {
            case .sha1: library.sha1
            case .sha256: library.sha256
            }
        guard functions.EVP_DigestInit_ex(context, function, nil) == 1 else {
            throw FetchError(.notBuiltIn, .input, "this OpenSSL has no \(algorithm)")
        }
    }

    deinit { functions.EVP_MD_CTX_free(context) }

    /// Adds the next bytes of the message.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        if isOver { begin() }
        let isDone = functions.EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
        precondition(isDone == 1)
    }

    /// Adds the next bytes of the message.
    package func update(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// The digest of the message; the next update begins another message.
    package func finish() -> [UInt8] {
        if isOver { begin() }
        isOver = true
        return [UInt8](unsafeUninitializedCapacity: algorithm.byteCount) { digest, count in
            let isDone = functions.EVP_DigestFinal_ex(context, digest.baseAddress, nil)
            precondition(isDone == 1)
            count = algorithm.byteCount
        }
    }

    private func begin() {
        // Without a function argument it keeps the present one, which saves a lookup.
        let isReady = functions.EVP_DigestInit_ex(context, nil, nil)
        precondition(isReady == 1)
        isOver = false
    }
}

extension Digest {
    /// SHA-256 of a text in hexadecimal digits: no other text has it, not even a stranger's.
    package static func sha256(_ text: some StringProtocol) throws(FetchError) -> String {
        let digest = try Digest(.sha256)
        digest.update(Array(text.utf8)[...])
        return digest.finish().hex
    }
}

/// libcrypto, opened at the first use in the process.
//
// @unchecked: function pointers that do not change after `init`.
private final class CryptoLibrary: @unchecked Sendable {
    let functions: swcrypto_functions
    /// Fetched once: that costs more than hashing a page.
    let sha1, sha256: OpaquePointer?

    private static let loaded = Result { () throws(FetchError) in try CryptoLibrary() }

    static func shared() throws(FetchError) -> CryptoLibrary { try loaded.get() }

    private init() throws(FetchError) {
        var functions = swcrypto_functions()
        try SystemLibrary.openSSL(isTLS: false, for: "hashing") { swcrypto_load($0, &functions) }
        // Without openssl.cnf, because reading it costs more than the hash.
        _ = functions.OPENSSL_init_crypto(UInt64(swcrypto_init_options), nil)
        self.functions = functions
        sha1 = functions.EVP_MD_fetch(nil, "SHA1", nil)
        sha256 = functions.EVP_MD_fetch(nil, "SHA256", nil)
    }
}
