// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import SmallWebCore

/// Number of processors that this process may use.
package func processorCount() -> Int { Int(swposix_processor_count()) }

/// A thread for blocking calls, or for an event loop.
enum Thread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// - Throws: `resolve` when the system refuses another thread: threads are used to resolve
    ///   names.
    static func detach(_ run: @escaping @Sendable () -> Void) throws(FetchError) {
        pthread_detach(try start(run))
    }

    /// - Returns: A thread to be joined or detached.
    /// - Throws: `resolve` when the system refuses another thread.
    static func start(_ run: @escaping @Sendable () -> Void) throws(FetchError) -> pthread_t {
        let body = Unmanaged.passRetained(Body(run))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, body.toOpaque())
        guard status == 0 else {
            body.release()
            let error = SystemError(number: status)
            throw FetchError(
                .resolve, .resolve, "no thread to resolve with", error, remedy: .raise(.threads))
        }
        return thread
    }
}
