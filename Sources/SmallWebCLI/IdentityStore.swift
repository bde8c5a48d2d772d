// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebTransport

/// The user's identities: a directory with one PEM file each, and the file `bindings` with lines of
/// `NAME URL`. SMALLWEB_IDENTITIES names it, or it is beside the trust store's default place.
struct IdentityStore: Sendable {
    let directory: String

    init() throws(FetchError) {
        if let directory = Environment.variable("SMALLWEB_IDENTITIES") {
            self.directory = directory
        } else if let data = Environment.variable("XDG_DATA_HOME"), data.hasPrefix("/") {
            directory = data + "/smallweb/identities"
        } else if let home = Environment.variable("HOME") {
            directory = home + "/.local/share/smallweb/identities"
        } else {
            throw usageError("no home directory for identities", hint: "set SMALLWEB_IDENTITIES")
        }
    }

    struct Binding: Sendable, Hashable {
        let name: String
        let scope: Identities.Scope
    }

    /// - Throws: `usage` for what could be a path.
    func path(_ name: String) throws(FetchError) -> String {
        let isPlain = name.utf8.allSatisfy {
            ASCII.isLetter($0) || ASCII.isDigit($0) || "-_.@".utf8.contains($0)
        }
        guard isPlain, !name.isEmpty, !name.hasPrefix(".") else {
            throw usageError("\"\(name)\" is no name: letters, digits, - _ . @")
        }
        return "\(directory)/\(name).pem"
    }

    func names() -> [String] {
        guard let handle = opendir(directory) else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasSuffix(".pem") { names.append(String(name.dropLast(4))) }
        }
        return names.sorted()
    }

    func pem(_ name: String) throws(FetchError) -> [UInt8] {
        do throws(FetchError) {
            return try InputSource.read("@" + path(name))
        } catch {
            guard error.outcome == .read else { throw error }
            throw FetchError(
                .identityUnusable, .input, "there is no identity \"\(name)\" that can be read",
                hint: "'smallweb identity list' shows those that there are")
        }
    }

    /// Never over an identity that exists: with its key an account would be lost.
    func add(_ name: String, _ pem: [UInt8]) throws(FetchError) {
        let path = try path(name)
        do throws(SystemError) {
            for (index, character) in zip(path.indices, path)
            where character == "/" && index != path.startIndex {
                mkdir(String(path[..<index]), 0o700)
            }
            let file = try systemCall {
                open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            }
            defer { close(file) }
            try writeAll(pem[...], to: file)
            _ = try systemCall { fsync(file) }
        } catch {
            throw FetchError(
                .write, .output, "cannot write \(path): \(error.sentence)", errnoName: error.name)
        }
    }

    func remove(_ name: String) throws(FetchError) {
        _ = try pem(name)
        unlink(try path(name))
        try save(try bindings().filter { $0.name != name })
    }

    func bindings() throws(FetchError) -> [Binding] {
        guard access(directory + "/bindings", F_OK) == 0 else { return [] }
        var bindings: [Binding] = []
        for line in try InputSource.lines("@\(directory)/bindings") {
            let words = line.split(separator: " ")
            guard words.count == 2, let scope = try? Identities.Scope(String(words[1])) else {
                continue
            }
            bindings.append(Binding(name: String(words[0]), scope: scope))
        }
        return bindings
    }

    func save(_ bindings: [Binding]) throws(FetchError) {
        let path = directory + "/bindings"
        let text = bindings.map { "\($0.name) \($0.scope)\n" }.joined()
        do throws(SystemError) {
            let part = "\(path).\(getpid()).part"
            let file = try systemCall {
                open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
            }
            defer { close(file) }
            try writeAll(Array(text.utf8)[...], to: file)
            _ = try systemCall { rename(part, path) }
        } catch {
            throw FetchError(
                .write, .output, "cannot write \(path): \(error.sentence)", errnoName: error.name)
        }
    }
}

extension Settings {
    /// Who we are in this run: the identity that was chosen, and those that are bound.
    ///
    /// - Throws: `identity-unusable`, `usage`.
    func identities() throws(FetchError) -> Identities {
        var identities = Identities()
        if let certificateFile {
            let pem = try Self.read(certificateFile)
            identities.chosen = try load(pem, key: try keyFile.map(Self.read) ?? pem)
        } else if let identityName {
            let pem = try IdentityStore().pem(identityName)
            identities.chosen = try load(pem, key: pem)
        }
        let settings = self
        identities.bound = { uri throws(FetchError) in
            guard let store = try? IdentityStore() else { return nil }
            let binding = try store.bindings().filter { $0.scope.contains(uri) }
                .max { $0.scope.path.utf8.count < $1.scope.path.utf8.count }
            guard let binding else { return nil }
            let pem = try store.pem(binding.name)
            return try settings.load(pem, key: pem)
        }
        return identities
    }

    func load(_ certificate: [UInt8], key: [UInt8]) throws(FetchError) -> ClientIdentity {
        var password: [UInt8]?
        if ClientIdentity.isEncrypted(key) {
            if let keyPasswordFile {
                password = InputSource.withoutLineEnd(try InputSource.read("@" + keyPasswordFile))
            } else if Prompt.isPossible && promptsAllowed {
                password = Prompt.read(
                    "password of the key:", isSensitive: true, messages: Messages(settings: self))
            } else {
                throw FetchError(
                    .identityUnusable, .input, "the key is encrypted, and nobody is there to ask",
                    hint: "put its password into a file, for --key-password-file")
            }
        }
        return try ClientIdentity(
            certificate: certificate, key: key, password: password, now: UTCDate.now)
    }

    static func read(_ path: String) throws(FetchError) -> [UInt8] {
        do throws(FetchError) {
            return try InputSource.read("@" + path)
        } catch {
            throw FetchError(.identityUnusable, .input, error.message, errnoName: error.errnoName)
        }
    }
}
