// SPDX-License-Identifier: MIT
internal import FilePlugin
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
    public static let builtIn = of([
        FingerPlugin(),
        GeminiPlugin(),
        GitPlugin(),
        GopherPlugin(),
        HTTPPlugin(),
        NexPlugin(),
        SpartanPlugin(),
        TitanHandler(),
    ])

    /// The handler of this machine's files, which is in no other registry: a fetcher gets it for
    /// one URL alone.
    package static let files = of([FilePlugin()])

    /// The URL of a file, in the scheme of ``files``.
    ///
    /// - Parameter path: Absolute.
    package static func url(ofFile path: String) -> String { FilePlugin.url(ofPath: path) }

    private static func of(_ handlers: [any ProtocolHandler]) -> Registry {
        var registry = Registry()
        for handler in handlers {
            do {
                try registry.register(handler)
            } catch {
                preconditionFailure("two built-in plugins claim one scheme: \(error)")
            }
        }
        return registry
    }

    /// ``withPrograms``, and libcurl for further schemes, as far as it supports them.
    ///
    /// - Throws: `not-built-in` when libcurl is not installed.
    public static func builtInWithCurl() throws(FetchError) -> Registry {
        var registry = withPrograms
        try registry.register(CurlPlugin(try CurlClient.protocols()))
        return registry
    }
}
