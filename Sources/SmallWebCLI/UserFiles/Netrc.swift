// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

/// ~/.netrc: users and passwords by host, in the format of ftp, curl and git.
struct Netrc: Sendable {
    private struct Entry {
        /// In lower case; `nil` for any host.
        var host: String?
        var user: [UInt8]?
        var password: [UInt8]?
    }

    private var entries: [Entry] = []

    /// - Throws: `usage` without a home directory; `read` if the file cannot be read, or others can
    ///   read it.
    static func read() throws(FetchError) -> Netrc {
        guard let home = homeDirectory else {
            throw usageError("no home directory for .netrc", hint: "set HOME")
        }
        let name = home + "/.netrc"
        var (bytes, isOurs) = ([UInt8](), false)
        do throws(SystemError) {
            let file = try Descriptor(opening: name, O_RDONLY | O_NONBLOCK)
            var status = stat()
            _ = try systemCall { fstat(file.borrowed, &status) }
            isOurs =
                status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o077 == 0
                && [geteuid(), 0].contains(status.st_uid)
            if isOurs { bytes = try FileBytes.read(file.borrowed, limit: 1 << 20) }
        } catch {
            throw FetchError(.read, .input, "cannot read \(name)", error)
        }
        guard isOurs else {
            throw FetchError(
                .read, .input, "\(name) is not a file that you alone can read",
                hint: "correct it with: chmod 600 \(name)")
        }
        return Netrc(parsing: bytes)
    }

    /// Skips invalid words, and so never fails.
    init(parsing bytes: [UInt8]) {
        var key: String?
        var isInMacro = false
        for line in bytes.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false) {
            let words = Self.words(line)
            if isInMacro { isInMacro = !words.isEmpty }
            if isInMacro || key == nil && words.first?.first == UInt8(ascii: "#") { continue }
            for word in words where !isInMacro {
                let text = String(decoding: word, as: UTF8.self)
                switch (key, text) {
                case ("machine"?, _): entries.append(Entry(host: text.lowercased()))
                case ("login"?, _): last { $0.user = $0.user ?? word }
                case ("password"?, _): last { $0.password = $0.password ?? word }
                case (nil, "machine"), (nil, "login"), (nil, "password"), (nil, "account"):
                    key = text
                    continue
                case (nil, "default"): entries.append(Entry())
                case (nil, "macdef"): isInMacro = true
                default: break
                }
                key = nil
            }
        }
    }

    private mutating func last(_ change: (inout Entry) -> Void) {
        if !entries.isEmpty { change(&entries[entries.count - 1]) }
    }

    /// `user:password` of the first matching entry; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - host: Host in lower case.
    ///   - user: The user to find the password of; `nil` for any.
    func login(for host: String, user: [UInt8]?) -> [UInt8]? {
        for entry in entries where entry.host == nil || entry.host == host {
            guard let name = entry.user ?? user, user == nil || user == name,
                !name.contains(ASCII.colon)
            else { continue }
            return name + [ASCII.colon] + (entry.password ?? [])
        }
        return nil
    }

    /// Splits at blanks. Supports quotes, with C's escapes for quote, line feed, return and tab.
    private static func words(_ line: ArraySlice<UInt8>) -> [[UInt8]] {
        let escapes: [UInt8: UInt8] = [0x6E: 0x0A, 0x72: 0x0D, 0x74: 0x09]
        var (words, rest) = ([[UInt8]](), line)
        while true {
            rest = rest.drop { $0 <= ASCII.space }
            guard let first = rest.first else { return words }
            let isQuoted = first == UInt8(ascii: "\"")
            if isQuoted { rest = rest.dropFirst() }
            var word: [UInt8] = []
            while let byte = rest.popFirst() {
                if isQuoted ? byte == first : byte <= ASCII.space { break }
                guard isQuoted && byte == UInt8(ascii: "\\"), let next = rest.popFirst() else {
                    word.append(byte)
                    continue
                }
                word.append(escapes[next] ?? next)
            }
            words.append(word)
        }
    }
}
