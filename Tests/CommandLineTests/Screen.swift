// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import Testing

/// The other end of a program's standard error: a terminal, or a pipe.
final class Screen {
    let reader: FileHandle
    let writer: FileHandle
    private(set) var shown = ""

    init(isTerminal: Bool, columns: UInt16 = 80) throws {
        guard isTerminal else {
            let pipe = Pipe()
            (reader, writer) = (pipe.fileHandleForReading, pipe.fileHandleForWriting)
            return
        }
        // Replaces posix_openpt(3), grantpt(3) and unlockpt(3), which Swift's Glibc does not have.
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (lock, number) = (Int32(0), Int32(0))
        try #require(ioctl(terminal, 0x4004_5431, &lock) == 0, "TIOCSPTLCK")
        try #require(ioctl(terminal, 0x8004_5430, &number) == 0, "TIOCGPTN")
        let name = "/dev/pts/\(number)"
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        let other = open(name, O_RDWR | O_NOCTTY)
        try #require(other >= 0)
        _ = ioctl(other, UInt(TIOCSWINSZ), &size)
        reader = FileHandle(fileDescriptor: terminal, closeOnDealloc: true)
        writer = FileHandle(fileDescriptor: other, closeOnDealloc: true)
    }

    /// Reads until all of the texts have been there, in this order, or the program has ended.
    func waitFor(_ texts: String...) {
        var place = shown.startIndex
        for text in texts {
            while true {
                if let range = shown[place...].range(of: text) {
                    place = range.upperBound
                    break
                }
                let offset = shown.distance(from: shown.startIndex, to: place)
                guard readMore() else { return }
                place = shown.index(shown.startIndex, offsetBy: offset)
            }
        }
    }

    func readMore() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(reader.fileDescriptor, &bytes, bytes.count)
        guard count > 0 else { return false }
        shown += String(decoding: bytes[..<count], as: UTF8.self)
        return true
    }

    func readToEnd() {
        while readMore() {}
    }
}

extension Smallweb {
    /// Runs to the end with standard error on `screen`, and with standard output and input there or
    /// nowhere.
    ///
    /// - Parameter look: Called while it runs.
    /// - Returns: The exit status.
    func run(
        _ arguments: [String], on screen: Screen, input: Bool = false, output: Bool = false,
        look: (Screen, _ process: Int32) throws -> Void
    ) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.binary)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: home.path)
        process.environment = Self.poller
            .merging(["HOME": home.path, "TERM": "xterm"]) { $1 }.merging(environment) { $1 }
        process.standardInput = input ? screen.writer : FileHandle.nullDevice
        process.standardOutput = output ? screen.writer : FileHandle.nullDevice
        process.standardError = screen.writer
        try process.run()
        // Only the program holds it now, so reading ends with it.
        try screen.writer.close()
        try process.inTime {
            try look(screen, process.processIdentifier)
            screen.readToEnd()
            process.waitUntilExit()
        }
        let status = process.terminationStatus
        return process.terminationReason == .uncaughtSignal ? -status : status
    }

    /// The same for who only looks at the screen.
    func run(
        _ arguments: [String], on screen: Screen, output: Bool = false,
        look: (Screen) throws -> Void
    ) throws -> Int32 {
        try run(arguments, on: screen, output: output) { screen, _ in try look(screen) }
    }
}
