// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// Programs that tests run.
package enum Programs {
    /// Nobody else may write the files that this process makes from now on: smallweb refuses
    /// programs that others can change, also under the umask 002.
    package static let areOurs: Void = { _ = umask(0o022) }()

    /// True if a program is on PATH. Always true in CI: there a test fails that is skipped
    /// elsewhere.
    package static func has(_ name: String) -> Bool {
        if getenv("CI") != nil { return true }
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return path.split(separator: ":").contains { access("\($0)/\(name)", X_OK) == 0 }
    }

    /// Writes a file. One that can be run waits until no process has it open for writing: a child
    /// that another thread is just starting has a copy of every descriptor, and such a file is
    /// refused as busy.
    ///
    /// - Parameter mode: `nil` leaves that of the file as it is.
    package static func write(_ text: String, to path: String, mode: UInt32? = 0o755) throws {
        let place = path.systemName
        let isProgram = try {
            let file = try systemCall {
                open(place, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
            }
            defer { close(file) }
            if let mode { _ = try systemCall { fchmod(file, mode) } }
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let count = try rest.withUnsafeBytes { bytes in
                    try systemCall { Glibc.write(file, bytes.baseAddress, bytes.count) }
                }
                rest = rest.dropFirst(count)
            }
            var facts = stat()
            _ = try systemCall { fstat(file, &facts) }
            return facts.st_mode & 0o111 != 0
        }()
        guard isProgram else { return }
        let reader = try systemCall { open(place, O_RDONLY | O_CLOEXEC) }
        defer { close(reader) }
        // A lease for reading (F_SETLEASE) is refused while there is a writer.
        let setLease: Int32 = 1024
        try eventually("nobody has \(path) open for writing") {
            fcntl(reader, setLease, F_RDLCK) == 0 || errno != EAGAIN
        }
        _ = fcntl(reader, setLease, F_UNLCK)
    }

    /// For `--proxy-command`: a connection to `%h` and `%p`, by standard input and output.
    package static let relay = """
        exec python3 -c 'import os, socket, sys, threading; \
        far = socket.create_connection((sys.argv[1], int(sys.argv[2]))); \
        send = lambda: ([far.sendall(b) for b in iter(lambda: os.read(0, 65536), b"")], \
        far.shutdown(1)); threading.Thread(target=send, daemon=True).start(); \
        [os.write(1, b) for b in iter(lambda: far.recv(65536), b"")]' %h %p
        """
}
