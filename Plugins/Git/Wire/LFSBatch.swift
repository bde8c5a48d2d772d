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

    enum Answer: Hashable, Sendable {
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
    ) throws(FetchError) -> [String: Answer] {
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
        var answers: [String: Answer] = [:]
        for object in objects {
            guard let digits = object["oid"]?.string, let size = sizes[digits] else { continue }
            guard answers[digits] == nil else { throw malformed("two places of \(digits)") }
            answers[digits] = try read(object, size, from: base)
        }
        if let missing = files.first(where: { answers[$0.digits] == nil }) {
            throw malformed("it says nothing of \(missing.digits)")
        }
        return answers
    }

    private static func read(
        _ object: JSONValue, _ size: Int, from base: URI
    ) throws(FetchError) -> Answer {
        switch object["error"] {
        // Some servers write null where there is no error.
        case nil, .null?: break
        case let error?:
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

    /// The reason in the body of a refusal, on one line: a member of JSON, or plain text.
    static func reason(_ body: [UInt8], _ reply: HTTPReply) -> String? {
        let isText = reply["content-type"]?.hasPrefix("text/plain") ?? false
        let message = (try? JSONValue.parse(body[...]))?["message"]?.string
        return HTTPConversation.line(message.map { Array($0.utf8) } ?? (isText ? body : []))
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

/// A pointer to a file that is stored apart from the repository (Git LFS, docs/spec.md of git-lfs):
/// lines `key SP value LF`, the version first. Pure.
struct LFSPointer: Hashable, Sendable {
    /// SHA-256 of the file: 64 hexadecimal digits in lower case.
    let digits: String
    /// Size of the file.
    let byteCount: Int

    var id: String { Self.idPrefix + digits }

    /// Possible sizes of a pointer, in bytes.
    static let sizes = 100...1023

    private static let beginning = Array("version https://git-lfs.github.com/spec/v1\n".utf8)
    private static let idPrefix = "sha256:"

    init?(_ content: ArraySlice<UInt8>) {
        guard Self.sizes.contains(content.count), content.starts(with: Self.beginning),
            content.last == ASCII.lineFeed
        else { return nil }
        var (digits, byteCount): (String?, Int?)
        for line in content.split(separator: ASCII.lineFeed) {
            if line.starts(with: "oid ".utf8), digits == nil {
                let text = line.dropFirst(4)
                let hex = text.dropFirst(Self.idPrefix.utf8.count)
                guard text.starts(with: Self.idPrefix.utf8), hex.count == 64,
                    let bytes = ASCII.bytes(hex: hex), bytes.hex.utf8.elementsEqual(hex)
                else { return nil }
                digits = bytes.hex
            } else if line.starts(with: "size ".utf8), byteCount == nil {
                byteCount = ASCII.decimal(line.dropFirst(5), max: .max / 2)
            }
        }
        guard let digits, let byteCount else { return nil }
        (self.digits, self.byteCount) = (digits, byteCount)
    }

    /// Adds bytes of the file that arrive. They are held back until their hash is known.
    ///
    /// - Throws: `protocol-error` for more bytes than the file has.
    func append(
        _ bytes: ArraySlice<UInt8>, to content: Spool, _ digest: Digest
    ) throws(FetchError) {
        guard content.count + bytes.count <= byteCount else {
            throw FetchError(
                .protocolError, .body,
                "Git LFS sends more than the \(byteCount) bytes of \(digits)",
                expected: String(byteCount))
        }
        digest.update(bytes)
        try content.append(bytes)
    }

    /// - Throws: `protocol-error` for another file.
    func check(_ content: Spool, _ digest: Digest) throws(FetchError) {
        guard content.count == byteCount else {
            throw FetchError(
                .protocolError, .body,
                "Git LFS sends \(content.count) bytes of the \(byteCount) of \(digits)",
                expected: String(byteCount), actual: String(content.count))
        }
        let found = digest.finish().hex
        guard found == digits else {
            throw FetchError(
                .protocolError, .body, "Git LFS sends another file than \(digits)",
                expected: digits, actual: found)
        }
    }
}
