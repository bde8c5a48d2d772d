// SPDX-License-Identifier: MIT
internal import Glibc

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

    /// For `--proxy-command`: a connection to `%h` and `%p`, by standard input and output.
    package static let relay = """
        exec python3 -c 'import os, socket, sys, threading; \
        far = socket.create_connection((sys.argv[1], int(sys.argv[2]))); \
        send = lambda: ([far.sendall(b) for b in iter(lambda: os.read(0, 65536), b"")], \
        far.shutdown(1)); threading.Thread(target=send, daemon=True).start(); \
        [os.write(1, b) for b in iter(lambda: far.recv(65536), b"")]' %h %p
        """
}
