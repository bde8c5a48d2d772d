// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebTransport

/// The user's identities: a directory with one PEM file each, and the file `bindings` with lines of
/// `NAME URL`. SMALLWEB_IDENTITIES names it, or it is beside the trust store's default place.
struct IdentityStore: Sendable {
    let directory: String

    init() throws(FetchError) {
        guard let directory = UserFiles.identities else {
            throw usageError(
                "no home directory for identities", hint: "set HOME or SMALLWEB_IDENTITIES")
        }
        self.directory = directory
    }

    /// What `identity list` says of one of them.
    struct Entry {
        let name: String
        let scopes: [String]
        let isEncrypted: Bool
        /// `nil` when it cannot be read.
        let certificate: CertificateFacts?
    }

    /// - Throws: `usage` for what could be a path.
    func path(_ name: String) throws(FetchError) -> String {
        guard Bindings.isName(name) else {
            throw usageError("\"\(name)\" is not a name: letters, digits, - _ . @")
        }
        return "\(directory)/\(name).pem"
    }

    func names() -> [String] {
        let files = (try? UserFiles.names(in: directory)) ?? []
        return files.filter { $0.hasSuffix(".pem") }.map { String($0.dropLast(4)) }
            .filter(Bindings.isName)
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

    func entry(_ name: String, _ bindings: Bindings) throws(FetchError) -> Entry {
        let pem = try pem(name)
        return Entry(
            name: name, scopes: bindings.scopes(of: name).map(\.description),
            isEncrypted: ClientIdentity.isEncrypted(pem),
            certificate: try? ClientIdentity.certificateFacts(pem))
    }

    /// Never over an identity that exists: with its key an account would be lost.
    func add(_ name: String, _ pem: [UInt8]) throws(FetchError) {
        let path = try path(name)
        let part = "\(directory)/.\(name).\(getpid()).part"
        do throws(SystemError) {
            try makeDirectories(directory, mode: 0o700)
            unlink(part)
            let file = try systemCall {
                open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            }
            defer {
                close(file)
                unlink(part)
            }
            try writeAll(pem[...], to: file)
            _ = try systemCall { fsync(file) }
            // Fails when the name is taken, and never shows half a key.
            _ = try systemCall { link(part, path) }
        } catch {
            if error.number == EEXIST {
                throw FetchError(
                    .write, .output, "there is an identity \"\(name)\" already",
                    errnoName: error.name,
                    hint: "choose another name, or 'smallweb identity remove \(name)' first")
            }
            throw FetchError(
                .write, .output, "cannot write \(path): \(error.sentence)", errnoName: error.name)
        }
    }

    func remove(_ name: String) throws(FetchError) {
        let path = try path(name)
        _ = try pem(name)
        // First what refers to it: a binding without its identity would stop fetches.
        try change { $0.remove(name, scope: nil) }
        guard unlink(path) == 0 else {
            let error = SystemError(number: errno)
            throw FetchError(
                .write, .output, "cannot remove \(path): \(error.sentence)", errnoName: error.name)
        }
    }

    // MARK: Bindings

    private var bindingsFile: StoreFile {
        StoreFile(directory + "/bindings", title: "list of bindings")
    }

    func bindings() throws(FetchError) -> Bindings {
        Bindings(parsing: try bindingsFile.read(), registry: Settings.plugins)
    }

    func change(_ body: (inout Bindings) -> Void) throws(FetchError) {
        try bindingsFile.change { bytes throws(FetchError) in
            var bindings = Bindings(parsing: bytes, registry: Settings.plugins)
            body(&bindings)
            bytes = bindings.bytes
        }
    }
}

extension ConnectionSettings {
    /// The client certificates of this run: the one that was chosen, and those that are bound.
    ///
    /// - Throws: `identity-unusable`, `usage`.
    func identities(_ asker: Asker) throws(FetchError) -> Identities {
        var identities = Identities()
        if let certificateFile {
            let name = "\(certificateFile) \(keyFile ?? "")"
            identities.chosen = try LoadedIdentities.shared.identity(name) {
                () throws(FetchError) in
                let pem = try Self.read(certificateFile)
                return try load(
                    pem, key: try keyFile.map(Self.read) ?? pem, from: keyFile ?? certificateFile,
                    asker)
            }
        } else if let identityName {
            identities.chosen = try named(identityName, asker)
        }
        identities.bound = { uri throws(FetchError) in
            guard let store = try? IdentityStore(), let name = try store.bindings().name(for: uri)
            else { return nil }
            return try named(name, asker)
        }
        return identities
    }

    private func named(_ name: String, _ asker: Asker) throws(FetchError) -> ClientIdentity {
        try LoadedIdentities.shared.identity(name) { () throws(FetchError) in
            let store = try IdentityStore()
            let pem = try store.pem(name)
            return try load(pem, key: pem, from: try store.path(name), asker)
        }
    }

    /// - Parameter path: The key's file, if it is to be kept secret.
    func load(
        _ certificate: [UInt8], key: [UInt8], from path: String? = nil, _ asker: Asker
    ) throws(FetchError) -> ClientIdentity {
        var password: [UInt8]?
        if let path { Self.warn(of: path, key, asker) }
        if ClientIdentity.isEncrypted(key) {
            if let keyPasswordFile {
                password = InputSource.withoutLineEnd(try InputSource.read("@" + keyPasswordFile))
            } else if asker.canAsk {
                password = asker.ask("password of the key:", isSensitive: true)
                if password == nil { throw .cancelled }
            } else {
                throw FetchError(
                    .identityUnusable, .input,
                    "the key is encrypted, and there is no terminal to ask on",
                    hint: "put its password into a file, for --key-password-file")
            }
        }
        return try ClientIdentity(
            certificate: certificate, key: key, password: password, now: UTCDate.now)
    }

    /// A key in the clear that others can read is no secret, and its owner seldom knows.
    private static func warn(of path: String, _ key: [UInt8], _ asker: Asker) {
        var facts = stat()
        guard !ClientIdentity.isEncrypted(key), stat(path, &facts) == 0,
            facts.st_mode & S_IFMT == S_IFREG, facts.st_mode & (S_IRGRP | S_IROTH) != 0
        else { return }
        asker.messages.warning(
            "others can read the key in \(path); 'chmod 600 \(path)' keeps it yours")
    }

    static func read(_ path: String) throws(FetchError) -> [UInt8] {
        do throws(FetchError) {
            return try InputSource.read("@" + path)
        } catch {
            throw FetchError(.identityUnusable, .input, error.message, errnoName: error.errnoName)
        }
    }
}

/// The identities of this process that were read: each password is asked for once.
final class LoadedIdentities: Sendable {
    static let shared = LoadedIdentities()

    private let identities = Locked<[String: ClientIdentity]>([:])

    func identity(
        _ name: String, load: () throws(FetchError) -> ClientIdentity
    ) throws(FetchError) -> ClientIdentity {
        if let identity = identities.withLock({ $0[name] }) { return identity }
        let identity = try load()
        identities.withLock { $0[name] = identity }
        return identity
    }
}
