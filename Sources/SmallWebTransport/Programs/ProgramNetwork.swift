// SPDX-License-Identifier: MIT
package import SmallWebCore

/// What the connections of a program are made of.
package struct ProgramNetwork {
    /// A connection that is open.
    package struct Opened {
        package let carrier: any Carrier
        /// An IP address; `nil` where a proxy looks it up.
        package let address: String?

        package init(_ carrier: any Carrier, address: String?) {
            (self.carrier, self.address) = (carrier, address)
        }
    }

    /// What came of a URL that was fetched.
    package struct Fetched {
        /// What it came from in the end.
        package let uri: URI
        package let head: Head
        /// What carries the body; without it, why there is none that can be used.
        package let body: Result<any Carrier, FetchError>

        package init(_ uri: URI, _ head: Head, _ body: Result<any Carrier, FetchError>) {
            (self.uri, self.head, self.body) = (uri, head, body)
        }
    }

    /// Connects to the server of the URL.
    let connect: (ProgramRequest) async throws(FetchError) -> any Carrier
    /// Makes the connection with this number, to what the program asks for.
    package var open:
        (ProgramRequest, Int, ProgramConnection, Endpoint) async throws(FetchError) -> Opened
    /// Fetches a URL that the program asks for, as far as its head.
    package var fetch: (ProgramRequest, _ url: String) async throws(FetchError) -> Fetched
    /// Ends what it has begun.
    package var finish: () async -> Void = {}
    /// Begins TLS on the connection with this number.
    package var secure: (ProgramRequest, Int, any Carrier) async throws(FetchError) -> Opened
    /// Called with what has gone out over the connection with this number.
    package var onSent: (Int, _ bytes: [UInt8]) async throws(FetchError) -> Void = { _, _ in }
    /// Called with how much has come in.
    package var onReceived: (_ count: Int) -> Void = { _ in }

    /// Without connections after the first, and without TLS on that.
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
