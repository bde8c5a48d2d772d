// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

/// Cache of the branches and tags of listed repositories, for completion after `?ref=`: a file for
/// each repository, with a name per line.
final class RefCache: EventSink {
    /// Limit of a listing in bytes; the rest is dropped.
    private static let bytesMax = 1 << 20
    /// Limit of cached repositories; beyond it the cache is cleared.
    private static let filesMax = 200

    private let path: String
    /// Lines in the format of git-ls-remote.
    private var listing: [UInt8] = []

    /// - Returns: `nil` for a listing with patterns or options, which may be incomplete.
    init?(_ url: String, _ settings: FetchSettings) {
        let isWhole = (settings.referencePatterns ?? []).isEmpty && settings.options.isEmpty
        guard isWhole, let path = Self.path(of: url) else { return nil }
        self.path = path
    }

    func take(_ event: Event) {
        guard case .body(let bytes) = event else { return }
        listing += bytes.prefix(Self.bytesMax - listing.count)
    }

    /// Failures are ignored.
    func finish(_ ending: Ending) {
        guard ending.outcome == .ok, let directory = Self.directory,
            let end = listing.lastIndex(of: ASCII.lineFeed)
        else { return }
        var names: [UInt8] = []
        for line in listing[..<end].split(separator: ASCII.lineFeed) {
            let name = line.drop { $0 != ASCII.tab }.dropFirst()
            for place in ["refs/heads/", "refs/tags/"] where name.starts(with: place.utf8) {
                // Skip the peeled object of an annotated tag.
                guard !name.reversed().starts(with: "}{^".utf8) else { continue }
                // Shells show candidates unescaped.
                let text = String(decoding: name, as: UTF8.self)
                guard TerminalText.escapeLine(text) == text else { continue }
                names += name.dropFirst(place.utf8.count) + [ASCII.lineFeed]
            }
        }
        guard !names.isEmpty else { return }
        if access(path, F_OK) != 0, Self.files(in: directory).count >= Self.filesMax {
            Self.clear()
        }
        try? StoreFile(path, title: "list of references").change { bytes throws(FetchError) in
            bytes = names
        }
    }

    static func clear() {
        guard let directory else { return }
        for name in files(in: directory) { unlink("\(directory)/\(name)") }
    }

    static func names(of url: String, beginningWith prefix: Substring) -> [String] {
        guard let path = path(of: url), let bytes = try? FileBytes.read(path, limit: 4 << 20)
        else { return [] }
        return bytes.split(separator: ASCII.lineFeed).filter { $0.starts(with: prefix.utf8) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    private static var directory: String? {
        UserFiles.path("XDG_CACHE_HOME", ".cache", "refs")
    }

    /// A file by the repository's URL without user, path within it and version.
    private static func path(of url: String) -> String? {
        guard let directory, var uri = try? URI(parsing: url), let host = uri.host else {
            return nil
        }
        uri.userinfo = nil
        var path = uri.path
        if let inside = path.range(ofText: "//") {
            path = String(path[..<inside.lowerBound])
        }
        while path.hasSuffix("/") { path.removeLast() }
        let scheme = Registry.builtIn[uri.scheme]?.scheme.webScheme ?? uri.scheme
        let port = uri.port.map { ":\($0)" } ?? ""
        let name = PercentEncoding.encode(Array("\(scheme)://\(host)\(port)\(path)".utf8))
        return path.isEmpty || name.utf8.count > 250 ? nil : "\(directory)/\(name)"
    }

    private static func files(in directory: String) -> [String] {
        (try? UserFiles.names(in: directory)) ?? []
    }
}
