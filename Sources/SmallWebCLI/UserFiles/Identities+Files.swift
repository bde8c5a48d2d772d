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
                    hint: Advice.keyPassword)
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

extension IdentityFormat {
    /// - Parameters:
    ///   - path: The client's file or directory; for av-98 a dump of its table.
    ///   - files: Directory of the certificates, if it is elsewhere.
    /// - Throws: `read`.
    func identities(in path: String, files: String?) throws(FetchError) -> [ForeignIdentity] {
        switch self {
        case .astro: return try pairs(in: path, "crt") { ["//\($0)/"] }
        case .lagrange: return try pairs(in: path, "crt") { _ in [] }
        case .offpunk:
            var found: [ForeignIdentity] = []
            for host in try UserFiles.names(in: path) {
                let directory = "\(path)/\(host)"
                guard fileKind(directory) == S_IFDIR else { continue }
                found += try pairs(in: directory, "cert") { _ in ["//\(host)/"] }
            }
            return found
        case .telescope:
            let text = try Self.text(of: path + "/certs.conf")
            return identities(inText: text, directory: files ?? path + "/certs")
        case .amfora:
            return identities(inText: try Self.text(of: path), directory: "").map { found in
                ForeignIdentity(
                    name: found.name, certificate: UserFiles.withHome(found.certificate),
                    key: found.key.map(UserFiles.withHome), scopes: found.scopes)
            }
        case .av98:
            guard let files else {
                throw usageError(
                    "av-98 keeps its certificates in a directory of their own",
                    hint: Advice.identityDatabase)
            }
            return identities(inText: try Self.text(of: path), directory: files)
        }
    }

    /// Pairs of `NAME.EXTENSION` and `NAME.key` in the directory.
    private func pairs(
        in directory: String, _ suffix: String, _ scopes: (String) -> [String]
    ) throws(FetchError) -> [ForeignIdentity] {
        try UserFiles.names(in: directory).filter { $0.hasSuffix("." + suffix) }.map { file in
            let name = String(file.dropLast(suffix.count + 1))
            return ForeignIdentity(
                name: name, certificate: "\(directory)/\(file)", key: "\(directory)/\(name).key",
                scopes: scopes(name))
        }
    }

    private static func text(of path: String) throws(FetchError) -> String {
        String(decoding: try InputSource.read("@" + path), as: UTF8.self)
    }
}
