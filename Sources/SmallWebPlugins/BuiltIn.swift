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

    /// A copy in which a directory has the pages of a server at and below a URL.
    ///
    /// - Throws: `usage` for a scheme without servers, `read` for a directory that is not there.
    package func serving(_ directory: String, at url: URI) throws(FetchError) -> Registry {
        guard let entry = self[url.scheme], entry.scheme.crawling != nil, url.host != nil else {
            throw usageError("no directory can have the pages of \(url.display)")
        }
        var copy = self
        let root = entry.keepsDotSegments ? url : url.removingDotSegments()
        try copy.register(
            try ServedDirectory(directory, at: root, entry), replacing: true, isOurs: true)
        return copy
    }

    /// True for a page that comes from a directory, not from its server.
    package func serves(_ uri: URI) -> Bool {
        (self[uri.scheme]?.handler as? ServedDirectory)?.has(uri) ?? false
    }

    private static func of(_ handlers: [any ProtocolHandler]) -> Registry {
        var registry = Registry()
        for handler in handlers {
            do {
                try registry.register(handler, isOurs: true)
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
        try registry.register(CurlPlugin(try CurlClient.protocols()), isOurs: true)
        return registry
    }
}
