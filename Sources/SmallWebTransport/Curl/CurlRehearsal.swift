// SPDX-License-Identifier: MIT
internal import CSmallWebCurl
package import SmallWebCore

extension CurlClient {
    /// The bytes of a request, without a server: libcurl writes to a Unix socket of ours, from
    /// which nothing is read. A request over TLS is given as in HTTP/1.1, without the TLS.
    ///
    /// - Throws: `bad-url`; `not-built-in` for a scheme that libcurl does not speak as HTTP.
    package func rehearse(_ request: HTTPRequest) async throws(FetchError) -> [UInt8] {
        var request = request
        guard ["http", "https"].contains(request.uri.scheme) else {
            throw FetchError(
                .notBuiltIn, .input, "libcurl makes requests of its own for \(request.uri.scheme)")
        }
        let endpoint = request.endpoint
        if request.uri.scheme == "https" {
            // In clear text, with the Host field of the original URL.
            request.uri.scheme = "http"
            request.uri.port = endpoint.port == 443 ? nil : endpoint.port
            if endpoint.port == 80 {
                request.options.fields.insert(HTTPField("Host", endpoint.description), at: 0)
            }
        }
        let listener = try UnixListener()
        let transfer = try CurlTransfer(
            endpoint: endpoint, upload: request.options.body,
            trust: Connection.Trust(verdict: .skipped, firstSeen: nil, policy: .skip), multi: multi,
            loop: loop)
        configure(transfer, request, endpoint)
        transfer.set(CURLOPT_ABSTRACT_UNIX_SOCKET, listener.name)
        // A Unix socket is of neither family.
        transfer.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_WHATEVER))
        transfer.set(CURLOPT_VERBOSE, 1)
        defer { multi.remove(transfer) }
        try multi.add(transfer)
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
}
