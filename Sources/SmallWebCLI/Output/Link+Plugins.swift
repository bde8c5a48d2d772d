// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

// Links as the schemes of the command line's plugins have them.

extension Link {
    /// A gemtext link.
    init(_ line: GemtextLine, base: URI) {
        self.init(line, base: base, registry: Settings.plugins)
    }
}

extension LinkReader {
    /// - Parameter base: The page's own URI, after redirects.
    init(_ head: Head, base: URI) {
        self.init(head, base: base, registry: Settings.plugins)
    }
}
