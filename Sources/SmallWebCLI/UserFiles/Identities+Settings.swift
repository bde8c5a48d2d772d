// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

extension ConnectionSettings {
    /// The client certificates of this run: the one chosen by options, and those bound to URLs.
    ///
    /// - Throws: `identity-unusable`, `usage`.
    func identities(
        _ asker: Asker, _ registry: Registry
    ) throws(FetchError) -> Identities {
        var identities = Identities()
        if let certificateFile {
            let name = "\(certificateFile) \(keyFile ?? "")"
            identities.chosen = try LoadedIdentities.ofProcess.identity(name) {
                () throws(FetchError) in
                let pem = try Self.read(certificateFile)
                return try load(
                    pem, key: try keyFile.map(Self.read) ?? pem, from: keyFile ?? certificateFile,
                    asker)
            }
        } else if let identityName {
            identities.chosen = try named(identityName, asker, registry)
        }
        identities.bound = { uri throws(FetchError) in
            guard let store = try? IdentityStore(registry),
                let name = try store.bindings().name(for: uri)
            else { return nil }
            return try named(name, asker, registry)
        }
        return identities
    }

    private func named(
        _ name: String, _ asker: Asker, _ registry: Registry
    ) throws(FetchError) -> ClientIdentity {
        try LoadedIdentities.ofProcess.identity(name) { () throws(FetchError) in
            let store = try IdentityStore(registry)
            let pem = try store.pem(name)
            return try load(pem, key: pem, from: try store.path(name), asker)
        }
    }

    /// - Parameter path: The key's file, to warn if others can read it.
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
                    "the key is encrypted, and its password cannot be asked for without a terminal",
                    hint: "put its password into a file, for --key-password-file")
            }
        }
        return try ClientIdentity(
            certificate: certificate, key: key, password: password, now: UTCDate.now)
    }

    /// Warns of an unencrypted key that other users can read.
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

extension LoadedIdentities {
    /// Shared by the process, so that each password is asked for once, with any settings.
    static let ofProcess = LoadedIdentities()
}
