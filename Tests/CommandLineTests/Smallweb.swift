// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// The built binary, run as a user would run it, with a home of its own.
struct Smallweb {
    struct Result {
        /// The exit status, or minus the signal that ended the process.
        let status: Int32
        let output: [UInt8]
        let errors: String
        var text: String { String(decoding: output, as: UTF8.self) }
    }

    /// Removed with its last user.
    final class Home: Sendable {
        let path: String

        init() {
            Programs.areOurs
            path = NSTemporaryDirectory() + "smallweb-test-" + UUID().uuidString
            try? FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func file(_ name: String) -> String { path + "/" + name }
        var names: [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
        }
        /// Files, at any depth.
        func files(below directory: String) -> [String] {
            let all = try? FileManager.default.subpathsOfDirectory(atPath: file(directory))
            return (all ?? []).filter {
                var isDirectory: ObjCBool = false
                return FileManager.default.fileExists(
                    atPath: file(directory + "/" + $0), isDirectory: &isDirectory)
                    && !isDirectory.boolValue
            }
        }
        /// Writes a file, with the directories above it.
        func write(_ text: String, to name: String) throws {
            let place = URL(fileURLWithPath: file(name))
            try FileManager.default.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Programs.write(text, to: place.path, mode: nil)
        }

        func content(_ name: String) -> [UInt8]? {
            // FileManager's own way leaks when the file is empty (Swift 6.3.1).
            FileHandle(forReadingAtPath: file(name)).map { Array($0.readDataToEndOfFile()) }
        }
    }

    /// SMALLWEB_POLL, which has debug binaries wait by poll(2), if the tests have it.
    static let poller = ProcessInfo.processInfo.environment.filter { $0.key == "SMALLWEB_POLL" }

    /// SMALLWEB_BIN, or the binary beside the test bundle.
    static let binary: String = {
        if let path = ProcessInfo.processInfo.environment["SMALLWEB_BIN"] { return path }
        let bundle =
            CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
        var directory = URL(fileURLWithPath: bundle)
        repeat {
            directory.deleteLastPathComponent()
        } while directory.path != "/"
            && !FileManager.default.fileExists(
                atPath: directory.appendingPathComponent("smallweb").path)
        return directory.appendingPathComponent("smallweb").path
    }()

    /// True if a process waits in one of these functions of the kernel, or has ended.
    static func waits(_ process: Int32, in functions: String...) -> Bool {
        guard let file = FileHandle(forReadingAtPath: "/proc/\(process)/wchan") else { return true }
        let place = String(decoding: file.readDataToEndOfFile(), as: UTF8.self)
        return functions.contains { place.contains($0) }
    }

    /// True if an ordinary user may have mounts of its own here.
    static let canMount =
        (try? Smallweb().run(
            [], shell: "unshare --map-root-user --mount mount -t tmpfs none ."))?.status == 0

    let home = Home()
    var environment: [String: String] = [:]
    /// True if even root gets no more than the permissions of files give their owner.
    var isUnprivileged = false

    /// Has this authority alone for HTTPS: the machine may have none.
    func trusting(_ authority: TestCertificate = .make()) throws -> Smallweb {
        var smallweb = self
        let path = home.file("authority.pem")
        try Data(authority.certificatePEM.utf8).write(to: URL(fileURLWithPath: path))
        smallweb.environment["SSL_CERT_FILE"] = path
        return smallweb
    }

    /// Runs to the end.
    ///
    /// - Parameters:
    ///   - shell: Run by sh instead, with the binary's path and then the arguments as `"$@"`: for
    ///     limits, and for bytes that no String holds.
    ///   - started: Called with the process id while it runs.
    func run(
        _ arguments: [String], stdin: String? = nil, output: String? = nil, shell: String? = nil,
        started: (Int32) throws -> Void = { _ in }
    ) throws -> Result {
        var arguments = arguments
        let together = arguments.firstIndex { ["-Z", "-j", "--jobs", "--parallel"].contains($0) }
        if let together, let loops = LoopsTrait.count {
            arguments.insert(contentsOf: ["--loops", "\(loops)"], at: together)
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: shell == nil ? Self.binary : "/bin/sh")
        process.arguments =
            shell.map { ["-c", $0, "sh", Self.binary] + arguments } ?? arguments
        if isUnprivileged && geteuid() == 0 {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
            process.arguments = ["--bounding-set=-all", "--inh-caps=-all", Self.binary] + arguments
        }
        process.currentDirectoryURL = URL(fileURLWithPath: home.path)
        let inherited = ProcessInfo.processInfo.environment.filter {
            ["PATH", "SMALLWEB_POLL", "TSAN_OPTIONS", "ASAN_OPTIONS"].contains($0.key)
        }
        process.environment = inherited.merging(["HOME": home.path, "TERM": "xterm"]) { $1 }
            .merging(environment) { $1 }
        let place = Home()
        let files = try ["out", "err"].map { name -> FileHandle in
            let path = name == "out" ? output ?? place.file(name) : place.file(name)
            if output == nil || name == "err" {
                _ = FileManager.default.createFile(atPath: path, contents: nil)
            }
            return try #require(FileHandle(forWritingAtPath: path))
        }
        process.standardOutput = files[0]
        process.standardError = files[1]
        let input = Pipe()
        process.standardInput = stdin == nil ? FileHandle.nullDevice : input
        try process.run()
        if let stdin { try input.send(stdin) }
        if stdin != nil { try input.fileHandleForWriting.close() }
        try process.inTime {
            // Whoever throws has not ended it.
            let reached = Swift.Result { try started(process.processIdentifier) }
            if case .failure = reached { kill(process.processIdentifier, SIGKILL) }
            process.waitUntilExit()
            try reached.get()
        }
        let status = process.terminationStatus
        return Result(
            status: process.terminationReason == .uncaughtSignal ? -status : status,
            output: place.content("out") ?? [],
            errors: String(decoding: place.content("err") ?? [], as: UTF8.self))
    }
}

extension Process {
    /// Calls `body`, which waits for the end of the process. What hangs is killed after ten
    /// minutes, and is an issue of the test.
    func inTime(
        _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) rethrows {
        let (number, isLate) = (processIdentifier, Monitor(false))
        let end = DispatchWorkItem {
            isLate.update { $0 = true }
            kill(number, SIGKILL)
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + 600, execute: end)
        defer {
            end.cancel()
            if isLate.update({ $0 }) {
                let words = (arguments ?? []).joined(separator: " ")
                Issue.record("not ended after ten minutes: \(words)", sourceLocation: location)
            }
        }
        try body()
    }

    func waitInTime(_ location: SourceLocation = #_sourceLocation) {
        inTime(location) { waitUntilExit() }
    }
}

extension Pipe {
    /// Writes to a program that may have ended without reading it, which is no failure, nor the
    /// end of all tests: a reader that is gone raises SIGPIPE, and EPIPE where that is blocked.
    func send(_ text: String) throws {
        var (broken, before, none) = (sigset_t(), sigset_t(), timespec())
        sigemptyset(&broken)
        sigaddset(&broken, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &broken, &before)
        let bytes = Array(text.utf8)
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes {
                write(fileHandleForWriting.fileDescriptor, $0.baseAddress, $0.count)
            }
            guard count > 0 else { break }
            start += count
        }
        let error = errno
        _ = sigtimedwait(&broken, nil, &none)
        pthread_sigmask(SIG_SETMASK, &before, nil)
        try #require(start == bytes.count || error == EPIPE)
    }
}

/// A gemini server of the demo capsule, with its place.
struct Capsule {
    let server: LoopbackServer
    let place: String

    init(_ certificate: TestCertificate = .make()) throws {
        server = try LoopbackServer(tls: certificate, handler: DemoSites.gemini())
        place = "gemini://127.0.0.1:\(server.port)"
    }

    /// One that gives the same reply to every request.
    init(page reply: [UInt8]) throws {
        server = try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write(reply)
        }
        place = "gemini://127.0.0.1:\(server.port)"
    }
}

/// A gopher server of the demo hole.
struct Hole {
    let server: LoopbackServer
    let place: String

    init() throws {
        server = try LoopbackServer(handler: DemoSites.gopher)
        place = "gopher://127.0.0.1:\(server.port)"
    }
}
