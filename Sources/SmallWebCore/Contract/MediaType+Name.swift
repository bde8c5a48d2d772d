// SPDX-License-Identifier: MIT

extension MediaType {
    /// What the end of a file's name says; `nil` when it has none that is known.
    ///
    /// - Parameter path: Also a whole path: its last part counts.
    public init?(ofFile path: some StringProtocol) {
        let bytes = Array(path.utf8)
        let name = bytes[((bytes.lastIndex(of: ASCII.slash) ?? -1) + 1)...]
        guard let dot = name.lastIndex(of: ASCII.dot) else { return nil }
        let ending = String(decoding: name[(dot + 1)...], as: UTF8.self).lowercased()
        guard let type = Self.byEnding[ending] else { return nil }
        self = type
    }

    private static let byEnding: [String: MediaType] = {
        let endings = [
            "text/gemini": "gmi gemini", "text/plain": "txt", "text/markdown": "md",
            "text/html": "html", "text/css": "css", "text/csv": "csv", "application/json": "json",
            "application/xml": "xml", "application/pdf": "pdf", "application/zip": "zip",
            "application/gzip": "gz", "audio/flac": "flac", "audio/mpeg": "mp3",
            "audio/ogg": "ogg", "audio/wav": "wav", "image/gif": "gif", "image/jpeg": "jpg jpeg",
            "image/png": "png", "image/svg+xml": "svg", "image/webp": "webp", "video/mp4": "mp4",
            "video/webm": "webm",
        ]
        var types: [String: MediaType] = [:]
        for (essence, words) in endings {
            for word in words.split(separator: " ") { types[String(word)] = MediaType(essence) }
        }
        return types
    }()
}
