// SPDX-License-Identifier: MIT
public import SmallWebCore

extension Page: TerminalText.Line {
    /// URL, outcome, type, and what there is of it.
    public var description: String {
        let type = mediaType.map { "\($0), " } ?? ""
        return TerminalText.escapeLine(
            "\(ending.uri.display), \(outcome), \(type)\(body.count) bytes, \(items.count) items")
    }
}

extension Link: TerminalText.Line {
    /// Kind, label and URL.
    public var description: String { Item.line(kind, label, url) }
}

extension FetchResult: TerminalText.Line {
    /// Index, and page or error.
    public var description: String {
        switch result {
        case .success(let page): "\(index): \(page)"
        case .failure(let error): "\(index): \(error)"
        }
    }
}

extension Client.Events: TerminalText.Line {}

extension RunRequest: TerminalText.Line {
    /// The URL, and what is sent with it.
    public var description: String { Request.line(URI.display(url), input, upload, options) }
}
