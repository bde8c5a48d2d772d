// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The batch request of Git LFS for the locations of files, and its answer (docs/api/batch.md of
/// git-lfs). Pure.
enum LFSBatch {
    /// Of requests and answers.
    static let mediaType = "application/vnd.git-lfs+json"
    /// Files in one request, as many as with git-lfs.
    static let filesMax = 100
    /// Limit of an answer: a signed URL and its fields take some thousand bytes for each file.
    static let answerBytesMax = 4 << 20

    enum Place: Hashable, Sendable {
        case download(URI, fields: [HTTPField])
        /// The server does not have it; with its reason.
        case refused(String)
    }

    /// The URL for the batch requests of a repository: below its name, which ends with `.git`
    /// (docs/api/server-discovery.md).
    static func uri(of repository: URI) -> URI {
        var uri = repository
        uri.path += (uri.path.hasSuffix(".git") ? "" : ".git") + "/info/lfs/objects/batch"
        return uri
    }

    static func request(_ files: [LFSPointer]) -> [UInt8] {
        JSONWriter.line { writer in
            writer.member("operation", "download")
            writer.member("transfers") { $0.array(["basic"]) { $0.value($1) } }
            writer.member("objects") { writer in
                writer.array(files) { writer, file in
                    writer.object {
                        $0.member("oid", file.digits)
                        $0.member("size", file.byteCount)
                    }
                }
            }
            writer.member("hash_algo", "sha256")
        }
    }

    /// - Parameters:
    ///   - files: The files of the request; others in the answer are ignored.
    ///   - base: URL of the request; a download may not be less secure.
    /// - Returns: The location of each file, by ``LFSPointer/digits``.
    /// - Throws: `protocol-error` for an invalid answer, and for a URL that may not be fetched.
    static func parse(
        _ answer: ArraySlice<UInt8>, to files: [LFSPointer], from base: URI
    ) throws(FetchError) -> [String: Place] {
        let value: JSONValue
        do throws(FetchError) {
            value = try JSONValue.parse(answer)
        } catch {
            throw malformed(error.message)
        }
        guard case .array(let objects)? = value["objects"] else {
            throw malformed("it has no list of objects")
        }
        guard ["basic", nil].contains(value["transfer"]?.string) else {
            throw malformed("the transfer was not offered")
        }
        guard ["sha256", nil].contains(value["hash_algo"]?.string) else {
            throw malformed("another hash than SHA-256")
        }
        var sizes: [String: Int] = [:]
        for file in files { sizes[file.digits] = file.byteCount }
        var places: [String: Place] = [:]
        for object in objects {
            guard let digits = object["oid"]?.string, let size = sizes[digits] else { continue }
            guard places[digits] == nil else { throw malformed("two places of \(digits)") }
            places[digits] = try place(object, size, from: base)
        }
        if let missing = files.first(where: { places[$0.digits] == nil }) {
            throw malformed("it says nothing of \(missing.digits)")
        }
        return places
    }

    private static func place(
        _ object: JSONValue, _ size: Int, from base: URI
    ) throws(FetchError) -> Place {
        if let error = object["error"] {
            let code = if case .number(let code)? = error["code"] { code + " " } else { "" }
            return .refused(code + (error["message"]?.string ?? "without a reason"))
        }
        if case .number(let text)? = object["size"], text != String(size) {
            throw malformed("a file of \(text) bytes where \(size) were asked for")
        }
        guard let download = object["actions"]?["download"], let href = download["href"]?.string
        else { return .refused("the server offers no download") }
        var fields: [HTTPField] = []
        if case .object(let members)? = download["header"] {
            guard members.count <= fieldsMax else { throw malformed("too many header fields") }
            for member in members {
                guard let value = member.value.string else { throw malformed("a field's value") }
                if let field = try field(member.name, value) { fields.append(field) }
            }
        }
        return .download(try target(href, from: base), fields: fields)
    }

    /// The URL of a download.
    ///
    /// - Throws: `protocol-error` for other schemes than HTTP, and for plain HTTP after TLS.
    static func target(_ reference: String, from base: URI) throws(FetchError) -> URI {
        if let scheme = URI.scheme(of: reference), scheme != "https", scheme != "http" {
            throw malformed("a file at a URL of the scheme \"\(scheme)\"")
        }
        let uri: URI
        do throws(FetchError) {
            uri = try base.resolving(reference) { _ in true }.withoutFragment
        } catch {
            throw malformed("a bad URL, \(error.message)")
        }
        guard uri.host != nil, uri.userinfo == nil else {
            throw malformed("a file at a URL without a host, or with a user")
        }
        guard uri.scheme == "https" || base.scheme == "http" else {
            throw malformed("a file over HTTP without TLS, of a repository over HTTPS")
        }
        return uri
    }

    private static let fieldsMax = 64

    /// - Returns: `nil` for a field about the connection, as the client sets these itself.
    private static func field(_ name: String, _ value: String) throws(FetchError) -> HTTPField? {
        let isName = name.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0)
        }
        guard isName, !name.isEmpty, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw malformed("a header field that cannot be sent")
        }
        let isOurs = connectionFields.contains(name.lowercased()) || value.isEmpty
        return isOurs ? nil : HTTPField(name, value)
    }

    private static let connectionFields: Set<String> = [
        "accept-encoding", "connection", "content-length", "expect", "host", "keep-alive",
        "proxy-authorization", "proxy-connection", "range", "te", "trailer", "transfer-encoding",
        "upgrade",
    ]

    private static func malformed(_ what: String) -> FetchError {
        FetchError(.protocolError, .body, "malformed answer of Git LFS: \(what)")
    }
}
