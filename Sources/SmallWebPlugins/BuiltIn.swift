// SPDX-License-Identifier: MIT
internal import FingerPlugin
internal import GeminiPlugin
internal import GitPlugin
internal import GopherPlugin
internal import HTTPPlugin
internal import NexPlugin
public import SmallWebCore
internal import SmallWebTransport
internal import SpartanPlugin

extension Registry {
    /// The built-in handlers.
    public static let builtIn: Registry = {
        var registry = Registry()
        let handlers: [any ProtocolHandler] = [
            FingerPlugin(),
            GeminiPlugin(),
            GitPlugin(),
            GopherPlugin(),
            HTTPPlugin(),
            NexPlugin(),
            SpartanPlugin(),
            TitanHandler(),
        ]
        for handler in handlers {
            do {
                try registry.register(handler)
            } catch {
                preconditionFailure("two built-in plugins claim one scheme: \(error)")
            }
        }
        return registry
    }()

    /// ``withPrograms``, and libcurl for further schemes, as far as it supports them.
    ///
    /// - Throws: `not-built-in` when libcurl is not installed.
    public static func builtInWithCurl() throws(FetchError) -> Registry {
        var registry = withPrograms
        try registry.register(CurlPlugin(try CurlClient.protocols()))
        return registry
    }
}
