// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

/// Ways of containing a program that must do the same.
enum Way: CaseIterable, Sendable {
    /// Every means that this machine has.
    case full
    /// The same, started by a process that has started other programs.
    case byStarter
    /// As on a kernel without namespaces for ordinary users.
    case withoutNamespaces
    case withoutLandlock
    /// As on one without either.
    case withLeast

    var without: Containment.Means {
        switch self {
        case .full, .byStarter: []
        case .withoutNamespaces: [.pids, .network, .users]
        case .withoutLandlock: .landlock
        case .withLeast: [.pids, .network, .users, .landlock]
        }
    }
}

/// One contained program, run until it ends or prints `waiting`, and the things it left behind.
struct Trial {
    let reason: ProgramEnding.Reason?
    /// Its output on 1 and 2, and the reason of its end.
    let output: String
    let temporaryDirectoryIsGone: Bool
    /// Processes with its mark in their environment.
    let leftovers: [Int32]
    let containment: Containment?

    /// A folder for the program, and a home directory for it to want.
    final class Place: Sendable {
        let root: String
        var folder: String { root + "/plugin" }
        var home: String { root + "/home" }

        init() throws {
            Programs.areOurs
            // Not below /tmp, which may have too many entries to be looked through.
            var name = "/var/tmp/smallweb-test-XXXXXX".systemName
            try #require(mkdtemp(&name) != nil)
            root = String(systemName: name)
            try #require(Glibc.mkdir(root + "/plugin", 0o755) == 0)
            try #require(Glibc.mkdir(root + "/home", 0o755) == 0)
            try Data("secret".utf8).write(to: URL(fileURLWithPath: home + "/secret"))
        }

        deinit { try? FileManager.default.removeItem(atPath: root) }

        func write(_ name: String, _ text: String, mode: mode_t = 0o755) throws {
            try Programs.write(text, to: folder + "/" + name, mode: mode)
        }
    }

    /// For `byStarter`: has smallweb start other programs before, from the same folder.
    static func startOthers(_ way: Way, _ place: Place) throws {
        for _ in 0..<(way == .byStarter ? 2 : 0) {
            let process = try ContainedProcess(
                folder: place.folder, words: ["true"], environment: [:], limits: .init(),
                descriptors: [-1, -1, -1, -1, -1, -1], confinement: Confinement(home: place.home))
            process.end()
        }
    }

    /// - Parameters:
    ///   - words: `["sh", "-c", source]`, for example.
    ///   - alone: The file that is all of a plugin.
    static func run(
        _ words: [String], _ way: Way = .full, place: Place? = nil,
        limits: ProgramRequest.Limits = .init(), environment: [String: String] = [:],
        reads: [String] = [], alone: String? = nil
    ) throws -> Trial {
        let place = try place ?? Place()
        try startOthers(way, place)
        let mark = UUID().uuidString
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        var all = environment
        all["SMALLWEB_MARK"] = mark
        all["SMALLWEB_HOME"] = place.home
        all["SMALLWEB_PID"] = String(getpid())
        let process: ContainedProcess
        do {
            defer { close(ends[1]) }
            process = try ContainedProcess(
                folder: alone ?? place.folder, words: words, environment: all, limits: limits,
                descriptors: [-1, ends[1], ends[1], -1, -1, -1],
                confinement: Confinement(home: place.home, reads: reads, without: way.without))
        }
        // Until it has ended, or says that it will not.
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let deadline = ProcessClock.monotonic + 30_000_000_000
        var reason: ProgramEnding.Reason?
        while ProcessClock.monotonic < deadline {
            var events = [
                pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0),
                pollfd(fd: process.endDescriptor, events: Int16(POLLIN), revents: 0),
            ]
            poll(&events, 2, 1000)
            if events[0].revents & Int16(POLLIN) != 0 {
                let count = read(ends[0], &buffer, buffer.count)
                text += String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
            }
            let reaped = Result { () throws(FetchError) in try process.reap() }
            if case .failure(let error) = reaped, process.wasTooMuch {
                text += "[\(error.message)]"
                break
            }
            reason = try reaped.get()
            if reason != nil || text.contains("waiting") { break }
        }
        process.end()
        // All writers are gone, or this would wait for ever.
        if !text.contains("waiting") {
            text += String(decoding: reading.readDataToEndOfFile(), as: UTF8.self)
        }
        let temporary = process.temporaryPath
        return Trial(
            reason: reason, output: text,
            temporaryDirectoryIsGone: access(temporary, F_OK) != 0,
            leftovers: marked(mark), containment: process.containment)
    }

    /// Processes that have `mark` in their environment.
    static func marked(_ mark: String) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { process in
            let file = FileHandle(forReadingAtPath: "/proc/\(process)/environ")
            return file?.readDataToEndOfFile().range(of: Data(mark.utf8)) != nil
        }
    }

    /// Neither process nor file is left.
    func expectNothingLeft(_ location: SourceLocation = #_sourceLocation) {
        #expect(leftovers.isEmpty, sourceLocation: location)
        #expect(temporaryDirectoryIsGone, sourceLocation: location)
    }
}
