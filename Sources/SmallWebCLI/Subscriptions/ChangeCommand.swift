// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// The command of `--exec`: run by sh in a process group of its own. Reads a record on standard
/// input; its output goes to our standard error.
struct ChangeCommand {
    let command: String
    let loop: EventLoop
    /// Timeout.
    var seconds = 600.0

    /// Runs the command and waits for its end. A signal to this process ends it, too.
    ///
    /// - Returns: A description of the failure; `nil` for exit status 0.
    /// - Throws: `write` if it cannot be started; `interrupted`.
    func run(_ record: [UInt8]) async throws(FetchError) -> String? {
        let process: pid_t
        do throws(SystemError) {
            // Not a pipe: a command that does not read its input would block this process.
            let input = Descriptor(owning: try TemporaryFile.open())
            try writeAll(record[...], to: input.borrowed)
            _ = try systemCall { lseek(input.borrowed, 0, SEEK_SET) }
            process = try Shell.start(
                command, input: input.borrowed, output: 2,
                defaults: [SIGINT, SIGTERM, SIGHUP, SIGPIPE], hasGroup: true)
        } catch {
            throw FetchError(.write, .output, "cannot run the command of --exec", error)
        }
        let deadline = Instant.after(seconds: seconds)
        while true {
            if let status = Self.status(of: process) { return Self.problem(status) }
            let isLate = deadline <= .now
            if isLate || Task.isCancelled {
                await end(process)
                if !isLate { throw .cancelled }
                return "took longer than \(seconds.shortest) s, and was ended"
            }
            await wait(for: process, by: deadline)
        }
    }

    /// Waits until the process ends; without pidfd support 20 ms at most.
    private func wait(for process: pid_t, by deadline: Instant) async {
        let number = swposix_pidfd_open(process)
        guard number >= 0 else { return await loop.sleep(until: .after(seconds: 0.02)) }
        let descriptor = Descriptor(owning: number)
        await loop.untilReadable(descriptor.borrowed, by: deadline)
    }

    /// Sends SIGTERM to the process group, and SIGKILL after a second.
    private func end(_ process: pid_t) async {
        kill(-process, SIGTERM)
        let patience = Instant.after(seconds: 1)
        while Self.status(of: process) == nil {
            // Sleeping returns at once in a cancelled task.
            if .now >= patience || Task.isCancelled {
                kill(-process, SIGKILL)
                var status: Int32 = 0
                while waitpid(process, &status, 0) == -1 && errno == EINTR {}
                return
            }
            await loop.sleep(until: .after(seconds: 0.02))
        }
        kill(-process, SIGKILL)
    }

    /// `nil` while the process runs.
    private static func status(of process: pid_t) -> Int32? {
        var status: Int32 = 0
        let found = waitpid(process, &status, WNOHANG)
        return found == 0 || found == -1 && errno == EINTR ? nil : status
    }

    private static func problem(_ status: Int32) -> String? {
        if status & 0x7F != 0 { return "was ended by signal \(status & 0x7F)" }
        let exit = (status >> 8) & 0xFF
        return exit == 0 ? nil : "ended with exit status \(exit)"
    }
}
