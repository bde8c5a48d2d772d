// SPDX-License-Identifier: MIT

extension ProtocolHandler {
    /// The options of one scheme's requests.
    package func options(of scheme: String) -> [Request.Option] {
        options.filter { $0.schemes?.contains(scheme) ?? true }
    }
}

extension Registry.Entry {
    /// The one judgement of a request that is to be sent, however it was made: the scheme has each
    /// of its parts, so that none is left out without a word.
    ///
    /// - Throws: `usage`.
    package func check(_ request: Request) throws(FetchError) {
        let name = scheme.name
        guard request.scheme.name == name else {
            throw usageError("a request for \(request.scheme.name) has a URL of \(name)")
        }
        guard request.input == nil || scheme.input != nil else {
            throw usageError("\(name) requests cannot carry input")
        }
        if let upload = request.upload {
            guard scheme.uploads != nil else {
                throw usageError("nothing can be uploaded over \(name)")
            }
            try Self.check("the length of an upload", upload.byteCount, from: 0)
        }
        if let offset = request.resumeOffset {
            guard scheme.canResume else { throw usageError("\(name) cannot resume") }
            try Self.check("the offset to resume at", offset, from: 0)
        }
        guard request.referencePatterns == nil || scheme.hasReferences else {
            throw usageError("\(name) has no references")
        }
        try Self.check("the limit of the body", request.limits.bodyBytesMax ?? 0, from: 0)
        try Self.check("the limit of a line", request.limits.lineBytesMax, from: 1)
        try Self.check("the limit of memory", request.limits.heldBytesMax, from: 0)
        if !request.options.isEmpty && !request.mayHaveOtherOptions { try checkOptions(request) }
    }

    private static func check(_ what: String, _ size: Int, from least: Int) throws(FetchError) {
        guard size < least else { return }
        throw usageError("\(what) is \(size) bytes, and must be \(least) or more")
    }

    @inline(never)
    private func checkOptions(_ request: Request) throws(FetchError) {
        let known = handler.options(of: scheme.name)
        for key in request.options.keys.sorted() {
            guard let option = known.first(where: { $0.key == key }),
                let value = request.options[key]
            else {
                let other = Nearest.name(to: key, among: known.map(\.key))
                throw usageError(
                    "\(scheme.name) requests have no option \"\(key)\"",
                    hint: other.map { "did you mean \"\($0)\"?" })
            }
            try option.check(value)
            guard option.purpose != .uploads || request.upload != nil, option.urlKey == nil else {
                throw usageError(
                    "the option \"\(key)\" has no effect on this request",
                    hint: option.urlKey.map { "it is a part of the URL: ?\($0)=…" })
            }
        }
    }
}

extension Request.Option {
    /// - Throws: `usage` for a value of another kind, or one that is refused.
    fileprivate func check(_ value: Request.Options.Value) throws(FetchError) {
        switch (kind, value) {
        case (.flag, .flag), (.secret, .secret): break
        case (.text, .text(let text)): try check(text)
        case (.list, .list(let texts)): for text in texts { try check(text) }
        default: throw usageError("the option \"\(key)\" takes another kind of value: \(kind)")
        }
    }
}
