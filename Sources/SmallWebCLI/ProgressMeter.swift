// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebTransport

/// What a person sees while they wait: first whom we are talking to, then how much has come.
final class ProgressMeter {
    private let messages: Messages
    /// False when the body itself goes to the terminal.
    private let drawsTransfer: Bool
    private let started = Deadline.now
    private var address = ""
    private var received = 0

    init(messages: Messages, drawsTransfer: Bool) {
        self.messages = messages
        self.drawsTransfer = drawsTransfer
    }

    func connecting(to address: String) { self.address = address }
    func receive(_ count: Int) { received += count }

    /// Draws until the task is cancelled, then erases the line.
    func run(on loop: EventLoop) async {
        await loop.sleep(until: .after(seconds: 0.3))
        while !Task.isCancelled {
            draw()
            await loop.sleep(until: .after(seconds: 0.2))
        }
        messages.showTransient("")
    }

    private func draw() {
        let seconds = Double(Deadline.now.nanoseconds - started.nanoseconds) / 1e9
        if received == 0 {
            messages.showTransient(
                address.isEmpty ? "resolving …" : "waiting for \(address) …")
        } else if drawsTransfer && seconds >= 1 {
            let rate = Self.size(Int(Double(received) / seconds))
            messages.showTransient("\(Self.size(received)) received, \(rate)/s")
        }
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
