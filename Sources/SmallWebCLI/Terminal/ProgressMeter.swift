// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords
internal import SmallWebTransport

/// Progress of one fetch: first the server, then the bytes transferred and remaining. As a line on
/// the terminal, or as records on standard error.
//
// @unchecked: lives on the event loop of the run alone; tasks that share it are pinned there.
final class ProgressMeter: EventSink, @unchecked Sendable {
    private let messages: Messages
    private let asked: RequestLine
    /// False if the body goes to the terminal.
    private let drawsTransfer: Bool
    private let run: RunMeter?
    private let started = Instant.now
    private var address: String?
    private var isConnected = false
    /// Bytes already in the file before this fetch.
    private let offset: Int
    /// Progress of the upload, and from the reply's head on of the body.
    private var transfer = Transfer()
    private var task: Task<Void, Never>?

    /// - Parameters:
    ///   - offset: Offset of the body in its file.
    ///   - run: The meter of all URLs, which then draws instead.
    init(asked: RequestLine, messages: Messages, drawsTransfer: Bool, offset: Int, run: RunMeter?) {
        self.offset = offset
        self.run = run
        self.asked = asked
        self.messages = messages
        self.drawsTransfer = drawsTransfer
    }

    func take(_ event: Event) {
        switch event {
        case .connecting(_, let address): (self.address, isConnected) = (address, false)
        case .connected: isConnected = true
        case .head(let head):
            transfer = Transfer(total: head.bodyBytes)
            erase()
        case .body(let bytes): move(bytes.count)
        default: break
        }
    }

    func upload(of total: Int) { transfer = Transfer(total: total, isUpload: true) }

    func move(_ count: Int) {
        transfer.bytes += count
        run?.move(count)
    }

    func start(_ form: MessageSettings.Progress, on loop: EventLoop) {
        if form == .none || run != nil { return }
        task = Task(executorPreference: loop) { await self.watch(form, on: loop) }
    }

    /// Erases the line. The task may notice its cancellation late, or never.
    func stop() {
        guard let task else { return }
        task.cancel()
        erase()
        self.task = nil
    }

    private func watch(_ form: MessageSettings.Progress, on loop: EventLoop) async {
        let seconds = form == .json ? 1 : 0.2
        await loop.sleep(until: .after(seconds: form == .json ? 1 : 0.3))
        while !Task.isCancelled {
            transfer.sample()
            if form == .json { messages.writeRecord(record) } else { draw() }
            await loop.sleep(until: .after(seconds: seconds))
        }
    }

    /// The line before any bytes have been transferred.
    private var waitingLine: String {
        guard let address else { return "resolving …" }
        return "\(isConnected ? "waiting for" : "connecting to") \(address) …"
    }

    private func erase() {
        if task != nil { messages.showTransient("") }
    }

    private func draw() {
        guard transfer.bytes > 0 else { return messages.showTransient(waitingLine) }
        if drawsTransfer && Instant.now.seconds(since: started) >= 1 {
            messages.showTransient(
                transfer.line(columns: messages.transientColumnsMax, offset: offset))
        }
    }

    private var record: [UInt8] {
        JSONWriter.line { writer in
            writer.begin("progress", asked.subject)
            // Standard error ends up in logs, so mask secrets.
            writer.member("url", asked.url.map(URI.display))
            writer.member("direction", transfer.isUpload ? "upload" : "download")
            writer.member("received", transfer.bytes)
            writer.member("total", transfer.total)
            writer.member("rate", transfer.rate.map { Int($0) })
        }
    }
}

/// Progress of a body. No I/O, but reads the clock.
struct Transfer {
    var total: Int?
    var isUpload = false
    var bytes = 0
    /// Samples of the last seconds, for the current rate.
    private var samples: [(at: Instant, bytes: Int)] = [(.now, 0)]

    init(total: Int? = nil, isUpload: Bool = false) {
        self.total = total
        self.isUpload = isUpload
    }

    private static let rateSeconds = 5.0

    mutating func sample(at now: Instant = .now) {
        samples.append((now, bytes))
        while samples.count > 2, now.seconds(since: samples[1].at) > Self.rateSeconds {
            samples.removeFirst()
        }
    }

    /// Bytes per second; `nil` without enough samples.
    var rate: Double? {
        guard let first = samples.first, let last = samples.last else { return nil }
        let seconds = last.at.seconds(since: first.at)
        return seconds > 0 ? Double(last.bytes - first.bytes) / seconds : nil
    }

    /// ` 45% [=====>      ] 1.5 MiB of 3.3 MiB, 500.0 KiB/s, 0:07 left`, or without a total the
    /// bytes so far.
    ///
    /// - Parameter offset: Bytes transferred before this fetch, included in all figures but the
    ///   rate.
    func line(columns: Int, offset: Int = 0) -> String {
        let speed = Self.size(Int(rate ?? 0)) + "/s"
        guard var total, total > 0, bytes <= total else {
            return "\(Self.size(bytes)) \(isUpload ? "sent" : "received"), \(speed)"
        }
        total += offset
        let bytes = bytes + offset
        let percent = "\(bytes * 100 / total)%"
        var left = "-:--"
        if let rate, rate > 0 { left = Self.time(Double(total - bytes) / rate) }
        let figures = "\(Self.size(bytes)) of \(Self.size(total)), \(speed), \(left) left"
        let width = columns - figures.count - 8
        guard width >= 8 else { return "\(percent) of \(Self.size(total)), \(left) left" }
        let filled = width * bytes / total
        let bar =
            filled == width
            ? String(repeating: "=", count: width)
            : String(repeating: "=", count: filled) + ">"
                + String(repeating: " ", count: width - filled - 1)
        return String(repeating: " ", count: 4 - percent.count) + "\(percent) [\(bar)] \(figures)"
    }

    /// `0:07`, `1:02:03`.
    static func time(_ seconds: Double) -> String {
        guard seconds < 360_000 else { return "days" }
        let all = Int(seconds.rounded(.up))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (all / 3600, all / 60 % 60)
        return (hours > 0 ? "\(hours):\(two(minutes))" : "\(minutes)") + ":" + two(all % 60)
    }

    /// `1.5 MiB`.
    static func size(_ bytes: Int) -> String {
        var value = Double(bytes)
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if value < 1024 || unit == "GiB" {
                let tenths = Int(value * 10)
                return unit == "B" ? "\(bytes) B" : "\(tenths / 10).\(tenths % 10) \(unit)"
            }
            value /= 1024
        }
        return "\(bytes) B"
    }
}

/// Progress of several concurrent URLs, summed up in one line.
//
// @unchecked: `transfer` has its lock, all else lives on the event loop of the run alone.
final class RunMeter: @unchecked Sendable {
    private let messages: Messages
    private let transfer = Locked(Transfer())
    private var task: Task<Void, Never>?

    init(_ messages: Messages) { self.messages = messages }

    /// Counts bytes sent or received for any of the URLs.
    func move(_ count: Int) { transfer.withLock { $0.bytes += count } }

    /// - Parameter state: Number of URLs done, those of them that failed, and the total if known.
    func start(
        on loop: EventLoop, _ state: @escaping () -> (done: Int, failed: Int, total: Int?)
    ) {
        // @unchecked: called on the event loop alone.
        nonisolated(unsafe) let state = state
        task = Task(executorPreference: loop) { @Sendable in
            await loop.sleep(until: .after(seconds: 1))
            while !Task.isCancelled {
                self.draw(state())
                await loop.sleep(until: .after(seconds: 0.2))
            }
        }
    }

    func stop() {
        task?.cancel()
        if task != nil { messages.showTransient("") }
        task = nil
    }

    private func draw(_ state: (done: Int, failed: Int, total: Int?)) {
        let transfer = transfer.withLock { transfer in
            transfer.sample()
            return transfer
        }
        let total = state.total.map { " of \($0)" } ?? ""
        let failed = state.failed > 0 ? ", \(state.failed) failed" : ""
        messages.showTransient(
            "\(state.done)\(total) done\(failed), \(Transfer.size(transfer.bytes)), "
                + "\(Transfer.size(Int(transfer.rate ?? 0)))/s")
    }
}
