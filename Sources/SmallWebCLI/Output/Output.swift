// SPDX-License-Identifier: MIT
internal import SmallWeb

/// What one mode makes of a fetch: it folds the events into what it puts out, as they come.
protocol Output {
    /// The ``FetchLog`` of the fetch knows of the event already.
    func take(_ event: Event) throws(FetchError)

    /// There was a reply, and what came of it has been taken. May add remarks to the log.
    func finish(_ ending: Ending) throws(FetchError)
}

extension Output {
    func finish(_ ending: Ending) throws(FetchError) {}
}

extension BodySink.Destination {
    init(_ order: Order, _ settings: Settings) {
        if let output = order.output {
            self = .file(output)
        } else if order.n < settings.outputs.count {
            let name = settings.outputs[order.n]
            self = name == "-" ? .rawStandardOutput : .file(name)
        } else if settings.usesRemoteName || settings.bodyForm == .file {
            self = .remoteName(directory: settings.outputDirectory)
        } else {
            let isUnwanted = settings.writesJSON || settings.bodyForm == .none
            self = isUnwanted ? .nowhere : .standardOutput
        }
    }
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
            let usesColor = Environment.usesColor(color, on: 1) && !sink.destination.isFile
            let output = HeadOutput(url: url, sink: sink, log: log, usesColor: usesColor)
            return records == nil ? [output] : []
        }
        var outputs: [any Output] = []
        if showsHeader && records == nil { outputs.append(HeaderOutput(sink: sink)) }
        let isPage = laysPagesOut && sink.destination == .standardOutput
        switch listing {
        case .links:
            outputs.append(LinkList(to: sink, log: log, records: records?.links, self))
        case .refs where isPage:
            let usesColor = Environment.usesColor(color, on: 1)
            outputs.append(RefColumns(target: sink.target, usesColor: usesColor))
        case nil where isPage:
            outputs.append(
                TerminalBody(
                    to: sink.target, log: log, style: PageStyle(self), isLaidOut: !wantsRawBody))
        default: outputs.append(BodyOutput(sink: sink))
        }
        if listing == .refs, let cache = RefCache(url, self) { outputs.append(cache) }
        return outputs
    }
}
