// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// Checks that a reply's body may be appended to the bytes received earlier (RFC 9110 §14,
/// §15.3.7). Pure.
struct HTTPRest {
    /// Number of bytes received earlier; `nil` when everything is requested.
    let offset: Int?
    /// The state that they were received from.
    private let known: BodyState
    private let keepsCoding: Bool
    private let asksByField: Bool
    /// True for a GET without conditions of the user's.
    private let isPlain: Bool

    /// - Throws: `usage` for a state of other bytes than a reply's of HTTP.
    init(_ request: Request, _ options: HTTPOptions) throws(FetchError) {
        offset = options.resumeOffset
        known = BodyState(parsing: request.bodyState ?? "")
        guard known.text != nil || request.bodyState?.isEmpty ?? true else {
            throw usageError(
                "the state of the bytes that are there is not one that HTTP has given",
                hint: "fetch all of it, or ask for the rest without a state")
        }
        keepsCoding = request.wantsRawBody
        asksByField = options.fields.contains { $0.name.lowercased() == "range" }
        let isConditional = options.fields.contains {
            HTTPValidator.conditions.contains($0.name.lowercased())
        }
        isPlain = !isConditional && options.body == nil && options.method ?? "GET" == "GET"
        guard offset != nil, !isConditional, let condition = known.condition else { return }
        fields = [HTTPField("If-Range", condition)]
    }

    /// Fields that request the rest of the same state, or the whole of another.
    private(set) var fields: [HTTPField] = []

    enum Body {
        case all
        case part(ContentRange)
        /// No bytes: all have been received earlier.
        case none
    }

    /// - Parameter isSuccess: True if the status means success.
    /// - Throws: `protocol-error` for another range than requested, or another coding: it would end
    ///   up in the wrong place. `permanent-failure` if the server cannot send the rest.
    func body(of reply: HTTPReply, isSuccess: Bool) throws(FetchError) -> Body {
        let text = reply["content-range"] ?? ""
        guard let offset else {
            guard reply.status == 206, !asksByField else { return .all }
            let range = try range(text, of: reply, from: 0)
            // Decoded, unless a range was requested.
            return keepsCoding || reply.codings("content-encoding").isEmpty ? .part(range) : .all
        }
        let unsatisfied = ContentRange.total(unsatisfied: text)
        let range = reply.status == 206 ? ContentRange(parsing: text) : nil
        let total = unsatisfied ?? range?.total
        let state = BodyState(reply, total: total, keepsCoding: keepsCoding)
        if reply.status == 416 || reply.status == 206 && unsatisfied != nil {
            guard total ?? known.total == offset else {
                guard isSuccess else { return .all }
                throw unwanted(text, from: offset)
            }
            if known.differs(from: state) { throw changed(offset) }
            return .none
        }
        guard isSuccess else { return .all }
        guard reply.status == 206 else {
            let length = reply.codings("content-encoding").isEmpty ? reply.contentLength : nil
            let whole = BodyState(reply, total: length, keepsCoding: keepsCoding)
            throw known.differs(from: whole)
                ? changed(offset)
                : FetchError(
                    .permanentFailure, .header, "the server cannot resume at byte \(offset)",
                    remedy: .startOver)
        }
        let codings = reply.codings("content-encoding").joined(separator: ", ")
        guard keepsCoding ? codings == known.coding : codings.isEmpty else {
            throw FetchError(
                .protocolError, .header,
                "the rest is encoded as \"\(codings.prefix(80))\", unlike the bytes before it",
                remedy: .startOver)
        }
        let part = try self.range(text, of: reply, from: offset)
        if known.differs(from: state) { throw changed(offset) }
        return part.count == 0 ? .none : .part(part)
    }

    /// State for resuming the body later; `nil` if it cannot be resumed.
    func state(of reply: HTTPReply) -> String? {
        guard reply.status == 200 || reply.status == 206 else { return nil }
        let total =
            reply.status == 200
            ? reply.contentLength : ContentRange(parsing: reply["content-range"] ?? "")?.total
        return BodyState(reply, total: total, keepsCoding: keepsCoding).text
    }

    /// True if the rest of this body can be asked for by a strong validator of the very bytes.
    func isExact(_ reply: HTTPReply) -> Bool {
        guard isPlain, reply.status == 200 || reply.status == 206 && offset != nil,
            reply["accept-ranges"]?.lowercased() != "none",
            keepsCoding || reply.codings("content-encoding").isEmpty
        else { return false }
        return BodyState(reply, total: nil, keepsCoding: keepsCoding).condition != nil
    }

    private func range(
        _ text: String, of reply: HTTPReply, from first: Int
    ) throws(FetchError) -> ContentRange {
        guard let range = ContentRange(parsing: text), range.first == first else {
            throw unwanted(text, from: first)
        }
        if let length = reply.contentLength, length > range.count { throw Self.beyond(range) }
        return range
    }

    private func unwanted(_ text: String, from first: Int) -> FetchError {
        let said = text.isEmpty ? "a range it does not name" : "\"\(text.prefix(80))\""
        return FetchError(
            .protocolError, .header, "the server sent \(said) instead of all from byte \(first)",
            remedy: offset == nil ? nil : .startOver)
    }

    private func changed(_ offset: Int) -> FetchError {
        FetchError(
            .permanentFailure, .header,
            "the file has changed on the server since its first \(offset) bytes came",
            remedy: .startOver)
    }

    static func beyond(_ range: ContentRange) -> FetchError {
        FetchError(
            .protocolError, .body,
            "the body is longer than its range, bytes \(range.first) to \(range.last)",
            expected: String(range.count))
    }
}
