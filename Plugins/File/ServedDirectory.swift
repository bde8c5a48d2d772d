// SPDX-License-Identifier: MIT
package import SmallWebCore

/// The pages of a server at and below a URL, read from a directory before they are published. Other
/// pages are asked of the server, by the plugin of its scheme.
package struct ServedDirectory: ProtocolHandler {
    private let own: any ProtocolHandler
    private let scheme: Scheme
    private let server: Endpoint?
    /// The names on the way to the directory of the URL, decoded.
    private let root: ArraySlice<[UInt8]>
    /// With links resolved.
    private let directory: String

    package var schemes: [Scheme] { [scheme] }
    package var options: [Request.Option] { own.options }
    package var verbs: [Verb] { own.verbs }
    package var programVersion: String? { own.programVersion }

    /// - Parameter url: The pages below its last slash are in the directory.
    package init(_ directory: String, at url: URI, _ entry: Registry.Entry) throws(FetchError) {
        var scheme = entry.scheme
        // Menus of files have to be parsed from their bodies.
        scheme.readsMenus = false
        scheme.canResume = false
        (own, self.scheme, server) = (entry.handler, scheme, scheme.endpoint(of: url))
        root = Self.names(of: url, scheme).dropLast()
        self.directory = resolvingLinks(directory)
        guard try LocalFile(opening: directory).isDirectory else {
            throw usageError("\(directory) is not a directory")
        }
    }

    /// The names in a path, without an item type; the last is empty for a directory.
    private static func names(of uri: URI, _ scheme: Scheme) -> ArraySlice<[UInt8]> {
        var path = Substring(uri.path)
        if scheme.crawling?.hasItemType ?? false { path = path.dropFirst(2) }
        if path.utf8.first == ASCII.slash { path = path.dropFirst() }
        return path.split(separator: "/", omittingEmptySubsequences: false).map {
            PercentEncoding.decode($0)
        }[...]
    }

    /// True for a page that is read from the directory, or is missing there.
    package func has(_ uri: URI) -> Bool {
        let names = Self.names(of: uri, scheme)
        return uri.scheme == scheme.name && scheme.endpoint(of: uri) == server
            && names.count > root.count && names.starts(with: root)
    }

    package func carriesData(_ request: Request) -> Bool { own.carriesData(request) }

    package func secrets(in sent: [UInt8]) -> [Range<Int>] { own.secrets(in: sent) }

    package func carried(
        from request: Request, status: Int?, isSameOrigin: Bool
    ) -> Request.Carried {
        own.carried(from: request, status: status, isSameOrigin: isSameOrigin)
    }

    package func fetch(
        _ request: Request, dialer: any Dialer, emit: Emit
    ) async throws(FetchError) -> Completeness {
        guard has(request.uri) else {
            return try await own.fetch(request, dialer: dialer, emit: emit)
        }
        guard !own.carriesData(request), request.input == nil else {
            throw usageError("a directory takes no data")
        }
        var names = Array(Self.names(of: request.uri, scheme).dropFirst(root.count))
        var path = path(of: names)
        let isDirectory = names.last?.isEmpty ?? true
        if isDirectory {
            let indexes = [scheme.crawling?.indexName].compactMap(\.self) + FilePlugin.indexes
            names = names.dropLast()
            path = indexes.lazy.compactMap { self.path(of: names + [Array($0.utf8)]) }.first
        }
        guard let path else {
            var head = Head(
                status: scheme.crawling?.missingStatus, .permanentFailure, meta: "not found")
            head.isMissing = true
            try await emit(.head(head))
            return .complete
        }
        let file = try LocalFile(opening: path)
        guard !file.isDirectory else { return try await FilePlugin.redirect(to: request.uri, emit) }
        let itemType = request.uri.path.dropFirst().first
        let isMenu = scheme.crawling.map { crawling in
            crawling.hasItemType
                && (isDirectory || itemType.map(crawling.menuTypes.contains) ?? true)
        }
        let isListing = isDirectory && scheme.crawling?.hasListings ?? false
        return try await FilePlugin.send(
            file, path, for: request, emit,
            type: isMenu ?? false
                ? MediaType("application/gopher-menu")
                : isListing ? MediaType("text/plain") : nil, isListing: isListing)
    }

    /// The file with these names; `nil` if there is none, or if it is not in the directory.
    private func path(of names: [[UInt8]]) -> String? {
        let dots = [[ASCII.dot], [ASCII.dot, ASCII.dot], []]
        guard
            !names.contains(where: {
                dots.contains($0) || $0.contains(0) || $0.contains(ASCII.slash)
            })
        else { return nil }
        let path = resolvingLinks(
            ([directory] + names.map { String(systemBytes: $0) }).joined(separator: "/"))
        guard path.hasPrefix(directory == "/" ? "/" : directory + "/") else { return nil }
        return isFileOrDirectory(path) ?? false ? path : nil
    }
}
