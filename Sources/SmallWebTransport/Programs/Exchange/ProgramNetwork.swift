// SPDX-License-Identifier: MIT
package import SmallWebCore

/// Opens the connections of a program.
package struct ProgramNetwork {
    package struct Opened {
        package let carrier: any Carrier
        /// An IP address; `nil` if a proxy resolves the name.
        package let address: String?

        package init(_ carrier: any Carrier, address: String?) {
            (self.carrier, self.address) = (carrier, address)
        }
    }

    /// The reply to a URL that the program asked for.
    package struct Fetched {
        /// The final URL, after redirects.
        package let uri: URI
        package let head: Head
        /// The carrier of the body, or the reason for which there is no usable body.
        package let body: Result<any Carrier, FetchError>

        package init(_ uri: URI, _ head: Head, _ body: Result<any Carrier, FetchError>) {
            (self.uri, self.head, self.body) = (uri, head, body)
        }
    }

    /// Connects to the server of the URL.
    let connect: (ProgramRequest) async throws(FetchError) -> any Carrier
    /// Opens the connection with this number for the program.
    package var open:
        (ProgramRequest, Int, ProgramConnection, Endpoint) async throws(FetchError) -> Opened
    /// Fetches a URL for the program, up to the head of the reply.
    package var fetch: (ProgramRequest, _ url: String) async throws(FetchError) -> Fetched
    /// Ends running fetches.
    package var finish: () async -> Void = {}
    /// Begins TLS on the connection with this number.
    package var secure: (ProgramRequest, Int, any Carrier) async throws(FetchError) -> Opened
    /// Called with bytes that were sent over the connection with this number.
    package var onSent: (Int, _ bytes: [UInt8]) async throws(FetchError) -> Void = { _, _ in }
    package var onReceived: (_ count: Int) -> Void = { _ in }

    /// Supports only the first connection, without STARTTLS.
    package init(
        connect: @escaping (ProgramRequest) async throws(FetchError) -> any Carrier
    ) {
        self.connect = connect
        open = { _, _, _, endpoint throws(FetchError) in
            throw FetchError(
                .notRecorded, .connect, "no connection of the program to \(endpoint) is there")
        }
        fetch = { _, url throws(FetchError) in
            throw FetchError(.notRecorded, .connect, "no reply to the program's \(url) is there")
        }
        secure = { _, _, _ throws(FetchError) in
            throw FetchError(.notRecorded, .tls, "no TLS within a connection is there")
        }
    }
}
