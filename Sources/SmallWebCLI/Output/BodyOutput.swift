// SPDX-License-Identifier: MIT
internal import SmallWeb

struct BodyOutput: EventSink {
    let sink: BodySink
    let log: FetchLog

    func take(_ event: Event) throws(FetchError) {
        switch event {
        case .head(let head): try sink.begin(head)
        case .body(let bytes): try sink.write(bytes)
        default: break
        }
    }

    func finish(_ ending: Ending) throws(FetchError) {
        try sink.commit(ending)
        for note in sink.notes { log.note(.note(note)) }
    }
}

/// `--show-headers`: writes the reply's header to standard output before the body, even if the body
/// goes to a file.
struct HeaderOutput: EventSink {
    let sink: BodySink

    func take(_ event: Event) throws(FetchError) {
        guard case .head(let head) = event, sink.destination != .nowhere else { return }
        let isShown = sink.destination != .rawStandardOutput && Environment.isTerminal(1)
        try sink.target.write((isShown ? TerminalText.escape(head.header) : head.header)[...])
    }
}
