// SPDX-License-Identifier: MIT
internal import CSmallWebCurl
internal import Glibc
public import SmallWebCore

extension CurlClient {
    /// The bytes of a request, without a server: libcurl talks to a socket of our own that nobody
    /// reads. What goes over TLS is given as it would be in HTTP/1.1, without the TLS.
    ///
    /// - Throws: `bad-url`; `not-built-in` for a scheme that libcurl does not speak as HTTP.
    public func rehearse(_ request: HTTPRequest) async throws(FetchError) -> [UInt8] {
        var request = request
        guard ["http", "https"].contains(request.uri.scheme) else {
            throw FetchError(
                .notBuiltIn, .input, "libcurl makes requests of its own for \(request.uri.scheme)")
        }
        let endpoint = try Self.endpoint(of: request.uri)
        if request.uri.scheme == "https" {
            // In clear, and with the Host field that it would have.
            request.uri.scheme = "http"
            request.uri.port = endpoint.port == 443 ? nil : endpoint.port
            if endpoint.port == 80 {
                request.options.fields.insert(HTTPField("Host", endpoint.description), at: 0)
            }
        }
        let listener = try Self.listener()
        defer { close(listener.descriptor) }
        let transfer = try CurlTransfer(
            endpoint: endpoint, upload: request.options.body, trust: TrustFacts(verdict: .skipped, firstSeen: nil, policy: "none"), multi: multi,
            loop: loop)
        configure(transfer, request, endpoint)
        transfer.set(CURLOPT_ABSTRACT_UNIX_SOCKET, listener.name)
        transfer.set(CURLOPT_VERBOSE, 1)
        multi.add(transfer)
        defer { multi.remove(transfer) }
        let end = min(deadline, .after(seconds: 10))
        while !transfer.sent.suffix(4).elementsEqual(ASCII.crlf + ASCII.crlf) {
            if let error = transfer.error() { throw error }
            switch await transfer.wait(by: end) {
            case .ready: continue
            case .cancelled: throw .cancelled
            case .timedOut:
                throw FetchError(.internal, .send, "libcurl did not write its request")
            }
        }
        return transfer.sent + (request.options.body ?? [])
    }

    /// A Unix socket without a file, which the system names and libcurl can connect to.
    private static func listener() throws(FetchError) -> (descriptor: Int32, name: String) {
        do throws(SystemError) {
            let descriptor = try systemCall {
                socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            }
            do throws(SystemError) {
                var address = sockaddr_un()
                address.sun_family = sa_family_t(AF_UNIX)
                // With no name at all, Linux finds one (unix(7), autobind).
                var length = socklen_t(MemoryLayout<sa_family_t>.size)
                _ = try withSocketAddress(of: &address) { pointer throws(SystemError) in
                    try systemCall { bind(descriptor, pointer, length) }
                }
                _ = try systemCall { listen(descriptor, 1) }
                length = socklen_t(MemoryLayout<sockaddr_un>.size)
                _ = try withSocketAddress(of: &address) { pointer throws(SystemError) in
                    try systemCall { getsockname(descriptor, pointer, &length) }
                }
                let bytes = withUnsafeBytes(of: address.sun_path) { Array($0) }
                let count = Int(length) - MemoryLayout<sa_family_t>.size
                return (descriptor, String(decoding: bytes[1..<count], as: UTF8.self))
            } catch {
                close(descriptor)
                throw error
            }
        } catch {
            throw FetchError(
                .internal, .connect, "no socket to rehearse with: \(error.sentence)",
                errnoName: error.name)
        }
    }

    private static func withSocketAddress<Value>(
        of address: inout sockaddr_un,
        _ body: (UnsafeMutablePointer<sockaddr>) throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Result { () throws(SystemError) in try body(pointer) }
            }
        }
        return try result.get()
    }
}
