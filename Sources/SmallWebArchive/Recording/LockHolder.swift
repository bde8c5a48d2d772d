// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// Names the process that holds a file's lock, as far as the system tells.
enum LockHolder {
    /// `process 1234 (smallweb)`, or `another process`.
    static func words(_ status: stat) -> String {
        guard let locks = read("/proc/locks") else { return "another process" }
        for line in locks.split(separator: "\n") {
            // 1: FLOCK ADVISORY WRITE 1234 fd:01:5678 0 EOF
            let words = line.split(separator: " ")
            guard words.count >= 6, words[1] == "FLOCK",
                words[5].split(separator: ":").last == "\(status.st_ino)"
            else { continue }
            let name = read("/proc/\(words[4])/comm")?.split(separator: "\n").first
            return "process \(words[4])" + (name.map { " (\($0))" } ?? "")
        }
        return "another process"
    }

    private static func read(_ path: String) -> String? {
        (try? FileBytes.read(path, limit: 16 << 20)).map { String(decoding: $0, as: UTF8.self) }
    }
}
