// SPDX-License-Identifier: MIT
internal import SmallWeb

/// What one mode makes of a fetch: it folds the events into what it puts out, as they come.
protocol Output: AnyObject {
    /// The ``FetchLog`` of the fetch knows of the event already.
    func take(_ event: Event) throws(FetchError)

    /// There was a reply, and what came of it has been taken.
    ///
    /// - Returns: A remark about the reply, if it deserves one.
    func finish(_ ending: Ending) throws(FetchError) -> Note?
}

extension Output {
    func finish(_ ending: Ending) throws(FetchError) -> Note? { nil }
}

extension Settings {
    /// Whether a reply that begins like this is delivered.
    func wantsBody(of head: Head) -> Bool {
        // An error page must not be added to what an earlier attempt has saved.
        !wantsHeadAlone
            && (head.replyClass == .success || refusal != .fail && resume == .fromStart)
    }

    /// What becomes of a reply that is delivered.
    ///
    /// - Parameters:
    ///   - url: As the user gave it.
    ///   - recorder: With the records that links and references become.
    func outputs(
        to sink: BodySink, url: String, log: FetchLog, recorder: Recorder?
    ) -> [any Output] {
        let records = writesJSON ? recorder : nil
        if wantsHeadAlone {
            return records == nil ? [HeadOutput(url, to: sink, log: log, color: color)] : []
        }
        var outputs: [any Output] = []
        if showsHeader && records == nil { outputs.append(HeaderOutput(sink)) }
        let isPage = laysPagesOut && sink.destination == .standardOutput
        switch listing {
        case .links:
            let style = Environment.isTerminal(1) && !sink.isFile ? PageStyle(self) : nil
            let writer: any LinkWriter =
                records?.links ?? LinkList(to: sink, style: style, listsAll: listsAll)
            outputs.append(LinkOutput(writer, to: sink, log: log, listsAll: listsAll))
        case .refs where isPage: outputs.append(RefColumns(sink.target, color: color))
        case nil where isPage:
            outputs.append(
                TerminalBody(
                    to: sink.target, log: log, style: PageStyle(self), isLaidOut: !wantsRawBody))
        default: outputs.append(BodyOutput(sink))
        }
        if let cache = RefCache(url, self) { outputs.append(cache) }
        return outputs
    }
}
