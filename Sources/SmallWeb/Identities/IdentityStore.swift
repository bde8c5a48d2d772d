// SPDX-License-Identifier: MIT
internal import Glibc
public import SmallWebCore
package import SmallWebTransport

/// The user's identities: a directory with one PEM file each, and the file `bindings` with lines of
/// `NAME URL`. SMALLWEB_IDENTITIES names it, or it is beside the trust store's default place.
package struct IdentityStore: Sendable {
    package let directory: String
    private let registry: Registry

    /// - Parameter registry: Knows the schemes with identities.
    /// - Throws: `usage` when there is neither a variable nor a home directory to find it by.
    package init(_ registry: Registry) throws(FetchError) {
        guard let directory = UserFiles.identities else {
            throw usageError(
                "no home directory for identities", hint: "set HOME or SMALLWEB_IDENTITIES")
        }
        self.init(directory, registry)
    }

    init(_ directory: String, _ registry: Registry) {
        self.directory = directory
        self.registry = registry
    }

    package struct Entry {
        package let name: String
        package let scopes: [String]
        package let isEncrypted: Bool
        /// `nil` when it cannot be read.
        package let certificate: Connection.Certificate?
    }

    /// - Throws: `usage` for a name that could be a path.
    package func path(_ name: String) throws(FetchError) -> String {
        guard Bindings.isName(name) else {
            throw usageError("\"\(name)\" is not a name: letters, digits, - _ . @")
        }
        return "\(directory)/\(name).pem"
    }

    /// - Throws: `read`.
    package func names() throws(FetchError) -> [String] {
        guard UserFiles.exists(directory) else { return [] }
        let files = try UserFiles.names(in: directory)
        return files.filter { $0.hasSuffix(".pem") }.map { String($0.dropLast(4)) }
            .filter(Bindings.isName)
    }

    package func pem(_ name: String) throws(FetchError) -> [UInt8] {
        let path = try path(name)
        if let pem = try? FileBytes.read(path, limit: 4 << 20) { return pem }
        var error = FetchError(
            .identityUnusable, .input, "there is no identity \"\(name)\" that can be read",
            remedy: .listIdentities)
        error.hint = Nearest.question(name, among: ((try? names()) ?? []).filter { $0 != name })
        throw error
    }

    package func entry(_ name: String, _ bindings: Bindings) throws(FetchError) -> Entry {
        let pem = try pem(name)
        return Entry(
            name: name, scopes: bindings.scopes(of: name).map(\.description),
            isEncrypted: ClientIdentity.isEncrypted(pem),
            certificate: try? ClientIdentity.certificateFacts(pem))
    }

    /// Never replaces an identity that exists: with its key an account would be lost.
    package func add(_ name: String, _ pem: [UInt8]) throws(FetchError) {
        let path = try path(name)
        do throws(SystemError) {
            try makeDirectories(directory, mode: 0o700)
            try AtomicFile.add(path, pem, part: "\(directory)/.\(name).\(getpid()).part")
        } catch {
            if error.number == EEXIST {
                throw FetchError(
                    .write, .output, "there is an identity \"\(name)\" already",
                    errnoName: error.name, remedy: .removeIdentity(name))
            }
            throw FetchError(.write, .output, "cannot write \(path)", error)
        }
    }

    /// Makes an identity with a key of its own.
    ///
    /// - Throws: `usage` for an invalid name, `write`, also for a name that is taken.
    package func make(_ name: String, _ type: ClientIdentity.KeyType) throws(FetchError) {
        _ = try path(name)
        try add(name, try ClientIdentity.make(name: name, type: type, now: UTCDate.now))
    }

    package func remove(_ name: String) throws(FetchError) {
        let path = try path(name)
        _ = try pem(name)
        // Its bindings first: a binding without its identity would stop fetches.
        try change { $0.remove(name, scope: nil) }
        guard unlink(path) == 0 else {
            let error = SystemError(number: errno)
            throw FetchError(.write, .output, "cannot remove \(path)", error)
        }
    }

    // MARK: Bindings

    private var bindingsFile: StoreFile {
        StoreFile(directory + "/bindings", title: "list of bindings")
    }

    package func bindings() throws(FetchError) -> Bindings {
        Bindings(parsing: try bindingsFile.read(), registry: registry)
    }

    package func change(_ body: (inout Bindings) -> Void) throws(FetchError) {
        try bindingsFile.change { bytes throws(FetchError) in
            var bindings = Bindings(parsing: bytes, registry: registry)
            body(&bindings)
            bytes = bindings.bytes
        }
    }
}

extension IdentityStore {
    /// The identities bound to URIs, by the bindings at that moment. Each is read once.
    func identities(_ password: @escaping @Sendable (_ name: String) -> [UInt8]?) -> Identities {
        let loaded = LoadedIdentities()
        var identities = Identities()
        identities.bound = { uri throws(FetchError) in
            guard let name = try bindings().name(for: uri) else { return nil }
            return try loaded.identity(name) { () throws(FetchError) in
                let pem = try pem(name)
                return try ClientIdentity(
                    certificate: pem, key: pem,
                    password: ClientIdentity.isEncrypted(pem) ? password(name) : nil,
                    now: UTCDate.now)
            }
        }
        return identities
    }
}

extension Identities {
    /// The user's own identities, which the command line shares: a URL gets the one that is bound
    /// to it. Files are read when a URL needs them.
    ///
    /// - Parameters:
    ///   - registry: Knows the schemes with identities.
    ///   - password: Returns the password of an encrypted key, by the identity's name; `nil` when
    ///     there is none, and the fetch ends as `identity-unusable`.
    /// - Throws: `usage` when there is no home directory to find them by.
    public static func ofUser(
        _ registry: Registry = .builtIn,
        password: @escaping @Sendable (_ name: String) -> [UInt8]? = { _ in nil }
    ) throws(FetchError) -> Identities {
        try IdentityStore(registry).identities(password)
    }
}

package final class LoadedIdentities: Sendable {
    private let identities = Locked<[String: ClientIdentity]>([:])

    package init() {}

    package func identity(
        _ name: String, load: () throws(FetchError) -> ClientIdentity
    ) throws(FetchError) -> ClientIdentity {
        if let identity = identities.withLock({ $0[name] }) { return identity }
        let identity = try load()
        identities.withLock { $0[name] = identity }
        return identity
    }
}
