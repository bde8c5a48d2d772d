// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

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
                    hint: "sqlite3 -separator '|' DATABASE 'select hostname, port, root, filename "
                        + "from client_certs' > dump; smallweb identity import --from av-98 dump "
                        + "DIR")
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
