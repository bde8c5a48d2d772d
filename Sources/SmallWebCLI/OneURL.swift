// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import SmallWeb
internal import SmallWebTransport

/// One URL of a run, with the prompts that its server asks for.
//
// @unchecked: lives on the event loop of the run alone; tasks that share it are pinned there.
final class OneURL: @unchecked Sendable {
    let url: String
    /// What standard output means for this URL.
    let target: BodyTarget
    private var destination: BodySink.Destination
    private let settings: Settings
    private let fetcher: Fetcher
    private let loop: EventLoop
    private let messages: Messages
    private let headers: HeaderFile?

    init(
        url: String, destination: BodySink.Destination, target: BodyTarget, settings: Settings,
        fetcher: Fetcher, loop: EventLoop, messages: Messages, headers: HeaderFile?
    ) {
        self.url = url
        self.destination = destination
        self.target = target
        self.settings = settings
        self.fetcher = fetcher
        self.loop = loop
        self.messages = messages
        self.headers = headers
    }

    /// Fetches, delivers and reports.
    func run() async -> Outcome {
        do throws(FetchError) {
            var request = try makeRequest()
            var hidesInput = false
            while true {
                let ending = try await exchange(request, hidesInput: hidesInput)
                guard ending.outcome == .needsInput, request.input == nil || hidesInput,
                    let head = ending.head, settings.promptsAllowed, settings.jobs == 1,
                    Prompt.isPossible
                else { return report(ending) }
                let asker = ending.uri.hostAndPort ?? url
                let question = "\(asker): \(head.meta.flatMap { $0.isEmpty ? nil : $0 } ?? "input")"
                guard
                    let answer = Prompt.read(
                        question, isSensitive: head.wantsSensitiveInput, messages: messages)
                else { return swposix_pending_signal() != 0 ? .interrupted : report(ending) }
                request = try fetcher.request(ending.uri.description)
                try configure(&request)
                request.input = answer
                hidesInput = head.wantsSensitiveInput
            }
        } catch {
            if error.outcome != .interrupted { messages.error(url, error) }
            return error.outcome
        }
    }

    private func makeRequest() throws(FetchError) -> Request {
        var request = try fetcher.request(url)
        let isHTTP = request.scheme.transport == .own
        let hasHTTPOptions =
            !settings.http.isEmpty || settings.resume != .fromStart
            || settings.connection.isSpecial
        if !isHTTP && hasHTTPOptions {
            throw usageError("the scheme \(request.scheme.name) has no use for HTTP options")
        }
        try configure(&request)
        if let input = settings.input {
            guard request.scheme.takesInput else {
                throw usageError("the scheme \(request.scheme.name) has no use for --data")
            }
            // A prompt's answer is a line; a body is every byte of it.
            request.input = isHTTP ? input : InputSource.withoutLineEnd(input)
        }
        return request
    }

    private func configure(_ request: inout Request) throws(FetchError) {
        request.wantsRawBody = settings.wantsRawBody
        request.http = settings.http
        request.refs = settings.refs
        request.wantsItems = !destination.isFile && Environment.isTerminal(1)
        request.limits.connectSeconds = settings.connectSeconds
        request.limits.idleSeconds = settings.readSeconds
        request.limits.totalSeconds = settings.totalSeconds
        switch settings.bodyBytesMax {
        case 0?: request.limits.bodyBytesMax = nil
        case let size?: request.limits.bodyBytesMax = size
        case nil: if destination.isFile { request.limits.bodyBytesMax = nil }
        }
        switch settings.resume {
        case .fromStart: break
        case .from(let offset):
            request.http.resumeOffset = offset
        case .fromFile:
            // The name must be known before the request is sent.
            if case .remoteName(let directory) = destination {
                let name = FileName.name(for: request.uri, head: nil)
                destination = .file(directory.map { "\($0)/\(name)" } ?? name)
            }
            guard case .file(let path) = destination else {
                throw usageError("-C - needs a file to continue", hint: "name it with -o or -O")
            }
            let offset = FileOutput.resumableBytes(path)
            request.http.resumeOffset = offset > 0 ? offset : nil
        }
    }

    private func exchange(
        _ request: Request, hidesInput: Bool
    ) async throws(FetchError) -> Ending {
        let sink = BodySink(destination, target: target, settings: settings)
        let goesToTerminal = !destination.isFile && Environment.isTerminal(1)
        let meter = ProgressMeter(messages: messages, drawsTransfer: !goesToTerminal)
        let delivery = Delivery(
            request, url: url, sink: sink, settings: settings, messages: messages,
            headers: headers, meter: meter)
        let isShown = messages.showsProgress && settings.jobs == 1
        let drawing = Drawing(meter, isOn: isShown, loop: loop)
        defer {
            drawing.stop()
            sink.discard()
        }
        let ending = try await fetcher.runHere(request) { event throws(FetchError) in
            try delivery.take(event, hidesInput: hidesInput)
        }
        drawing.stop()
        // What is cut off never gets a file's final name.
        if !(destination.isFile && ending.outcome == .truncated) { try sink.commit() }
        return ending
    }

    /// Says what went wrong, if anything did.
    private func report(_ ending: Ending) -> Outcome {
        let isRefusal = ending.head.map { $0.replyClass != .success } ?? false
        if isRefusal && settings.refusal == .accept { return .ok }
        if settings.failsWithoutMatch && ending.outcome == .ok && ending.bodyBytes == 0 {
            messages.error(url, "no reference matches", hint: "without a pattern all are listed")
            return .permanentFailure
        }
        guard let message = ending.message else { return ending.outcome }
        var hint = ending.hint
        switch ending.outcome {
        case .needsInput: hint = "give it with -d TEXT, or keep it secret with -d @FILE"
        case .truncated where destination.isFile && settings.resume == .fromStart:
            hint = "the file was not written; to keep what came, redirect standard output"
        default: break
        }
        messages.error(url, message, hint: hint)
        return ending.outcome
    }
}

/// The task that draws the progress, while there is one.
//
// @unchecked: on the event loop alone.
private final class Drawing: @unchecked Sendable {
    private let meter: ProgressMeter
    private var task: Task<Void, Never>?

    init(_ meter: ProgressMeter, isOn: Bool, loop: EventLoop) {
        self.meter = meter
        if isOn { task = Task(executorPreference: loop) { await self.meter.run(on: loop) } }
    }

    func stop() {
        task?.cancel()
        task = nil
    }
}
