// SPDX-License-Identifier: MIT
internal import FingerPlugin
internal import GeminiPlugin
internal import GopherPlugin
internal import HTTPPlugin
public import SmallWebCore
internal import SmallWebTransport

extension Registry {
    /// The handlers that smallweb comes with.
    public static let builtIn: Registry = {
        var registry = Registry()
        let handlers: [any ProtocolHandler] = [
            FingerPlugin(),
            GeminiPlugin(),
            GopherPlugin(),
            HTTPPlugin(),
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

    /// The built-in handlers, and libcurl for every further scheme that it supports.
    ///
    /// - Throws: `not-built-in` when libcurl is not installed.
    public static func builtInWithCurl() throws(FetchError) -> Registry {
        var registry = builtIn
        let further = try CurlClient.protocols().filter { builtIn[$0] == nil }
        try registry.register(CurlPlugin(further))
        return registry
    }
}
