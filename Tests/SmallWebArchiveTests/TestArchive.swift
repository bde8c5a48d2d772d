// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb

@testable import SmallWebArchive

/// An archive as another program could have written it, in a folder of its own.
struct TestArchive {
    let path: String
    /// Sentences about parts that are not used.
    private let damage = Locked<[String]>([])

    init(_ bytes: [UInt8], name: String = "x.warc") throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        path = folder.appending(path: name).path
        try Data(bytes).write(to: URL(filePath: path))
    }

    init(_ text: String) throws { try self.init(Array(text.utf8)) }

    /// - Parameters:
    ///   - id: Of the record, within angle brackets.
    ///   - fields: Beside those that each record has, as lines.
    static func record(
        _ type: String, _ target: String?, _ block: String, id: String = "\(UUID())",
        _ fields: [String] = [], version: String = "1.1", date: String = "2026-01-01T00:00:00Z",
        mediaType: String? = nil
    ) -> String {
        let kind = type == "request" ? "request" : "response"
        let scheme = target?.prefix { $0 != ":" } ?? "octet-stream"
        let type = ["WARC-Type: \(type)", "WARC-Record-ID: <urn:uuid:\(id)>", "WARC-Date: \(date)"]
        let media = "Content-Type: \(mediaType ?? "application/\(scheme); msgtype=\(kind)")"
        let uri: [String] = target.map { ["WARC-Target-URI: \($0)"] } ?? []
        var lines: [String] = ["WARC/\(version)"] + type + uri
        lines += [media] + fields + ["Content-Length: \(block.utf8.count)", "", block, "", ""]
        return lines.joined(separator: "\r\n")
    }

    /// A reply of HTTP with status 200.
    static func page(_ url: String, _ body: String, _ fields: [String] = []) -> String {
        let head = ["HTTP/1.1 200 OK", "Content-Type: text/plain"] + fields + ["", body]
        return record("response", url, head.joined(separator: "\r\n"))
    }

    /// As a member of a gzip file.
    static func gzip(_ text: some Collection<UInt8>) throws -> [UInt8] {
        var member: [UInt8] = []
        let deflater = try Deflater()
        Array(text).withUnsafeBytes { deflater.deflate($0, to: &member, isLast: true) }
        return member
    }

    /// A client that has nothing but the archive, and its own trust store.
    func client(
        isLoose: Bool = false, policy: TrustStore.Policy? = nil
    ) throws -> Client {
        var options = Client.Options()
        options.trust = TrustStore(path: path + ".known_hosts", policy: policy)
        let damage = damage
        return try Client(
            options: options,
            network: .replaying([path], isLoose: isLoose) { why in
                damage.withLock { $0.append(why) }
            })
    }

    /// The texts of pages, one after the other; a failure's outcome where there is none.
    func get(_ urls: String..., isLoose: Bool = false) async throws -> [String] {
        let client = try client(isLoose: isLoose)
        var found: [String] = []
        for url in urls {
            do throws(FetchError) {
                found.append(try await client.fetch(url).text)
            } catch {
                found.append(error.outcome.rawValue)
            }
        }
        return found
    }

    /// Sentences that ``client(isLoose:policy:)`` got about parts that are not used.
    var complaints: [String] { damage.withLock { $0 } }

    /// The message of `warc check`; `nil` for nothing.
    var fault: String? {
        do throws(FetchError) {
            _ = try ArchiveCheck(path)
            return nil
        } catch {
            return error.message
        }
    }
}
