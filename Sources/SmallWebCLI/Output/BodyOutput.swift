// SPDX-License-Identifier: MIT
internal import SmallWeb

/// The body as it came, byte for byte.
struct BodyOutput: EventOutput {
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

/// `--show-headers`: the reply's header before its body, on standard output even when the body goes
/// to a file.
struct HeaderOutput: EventOutput {
    let sink: BodySink

    func take(_ event: Event) throws(FetchError) {
        guard case .head(let head) = event, sink.destination != .nowhere else { return }
        let isShown = sink.destination != .rawStandardOutput && Environment.isTerminal(1)
        try sink.target.write((isShown ? TerminalText.escape(head.header) : head.header)[...])
    }
}
