// SPDX-License-Identifier: MIT
public import SmallWebCore

extension Client {
    /// The events of one fetch, ending with ``Event/end(_:)``: see
    /// ``Client/events(_:input:limits:)``.
    ///
    /// The fetch begins with the first `next()`. At most one event is ready ahead of the consumer;
    /// beyond that a slow consumer slows the socket. Cancelling the consuming task, or dropping the
    /// iterator, ends the fetch and closes its connection.
    public struct Events: AsyncSequence, Sendable {
        public typealias Element = Event
        public typealias Failure = FetchError
        /// One fetch in progress.
        public typealias Iterator = Client.Iterator<Event>

        let fetcher: Fetcher
        let url: String
        let request: Result<Request, FetchError>

        /// Begins another fetch, which starts with its first `next()`.
        public func makeAsyncIterator() -> Iterator {
            let (fetcher, url, request) = (fetcher, url, request)
            return Iterator { handoff async throws(FetchError) in
                do throws(FetchError) {
                    let ending = try await fetcher.run(request.get()) {
                        event async throws(FetchError) in
                        try await handoff.put(event)
                    }
                    try await handoff.put(.end(ending))
                } catch {
                    throw error.of(url)
                }
            }
        }
    }
}
