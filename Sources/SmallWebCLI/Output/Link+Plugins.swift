// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats

extension Link {
    /// A gemtext link, as the schemes of the command line's plugins have it.
    init(_ line: GemtextLine, base: URI) {
        self.init(line, base: base, registry: Settings.plugins)
    }
}
