// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb

/// A file of an earlier fetch, for `--if-changed`: its bytes, and the validator of the reply that
/// they came with, in an extended attribute. The validator holds while length and time of the file
/// are those that it was stored with.
enum KeptFile {
    private static let attribute = "user.smallweb.validator"
    /// Longer attributes are neither stored nor read.
    private static let attributeBytesMax = 4096

    /// The validator to ask with; `nil` if there is none for this request, or the file has changed.
    static func validator(_ path: String, of request: Request) -> String? {
        var bytes = [UInt8](repeating: 0, count: attributeBytesMax)
        var status = stat()
        let count = getxattr(path.systemName, attribute, &bytes, bytes.count)
        guard count > 0, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let text = String(validating: bytes[..<count], as: UTF8.self),
            let start = Self.start(request, status)
        else { return nil }
        return text.hasPrefix(start) ? String(text.dropFirst(start.count)) : nil
    }

    /// Stores the validator of a complete file; removes an earlier one.
    static func note(_ validator: String?, of request: Request, in path: String) {
        var status = stat()
        guard let validator, stat(path, &status) == 0, let start = start(request, status) else {
            // Usually there is no attribute to remove.
            _ = removexattr(path.systemName, attribute)
            return
        }
        // Not every file system has attributes; the next fetch compares the bytes.
        let text = start + validator
        guard text.utf8.count <= attributeBytesMax else { return }
        _ = setxattr(path.systemName, attribute, text, text.utf8.count, 0)
    }

    /// Length, time and a hash of what was asked: the URL may hold what others must not read. `nil`
    /// without libcrypto.
    private static func start(_ request: Request, _ status: stat) -> String? {
        let asked = request.uri.description + (request.wantsRawBody ? " raw" : "")
        let time = "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        return (try? Digest.sha256(asked)).map { "\(status.st_size) \(time) \($0) " }
    }

    /// True if two regular files have the same bytes. Does not follow links.
    static func isSame(_ one: String, _ other: String) -> Bool {
        do throws(SystemError) {
            let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
            let one = try Descriptor(opening: one, flags)
            let other = try Descriptor(opening: other, flags)
            guard let count = regularFileBytes(one.borrowed),
                count == regularFileBytes(other.borrowed)
            else { return false }
            for start in stride(from: 0, to: count, by: 65_536) {
                let piece = try FileBytes.read(one.borrowed, at: start, count: 65_536)
                guard try piece == FileBytes.read(other.borrowed, at: start, count: 65_536)
                else { return false }
            }
            return true
        } catch {
            return false
        }
    }
}

/// `--etag-save`: the entity tag of a complete reply.
struct TagFile: EventSink {
    let path: String

    func take(_ event: Event) {}

    func finish(_ ending: Ending) throws(FetchError) {
        guard ending.outcome == .ok, let tag = ending.head?.fields?["etag"] else { return }
        let file = try FileOutput(path, clash: .overwrite, createsDirectories: false)
        try file.write(Array("\(tag)\n".utf8)[...])
        try file.commit()
    }
}

/// A condition of the user's for a request over a protocol with header fields: `--time-cond`,
/// `--etag-compare`.
enum RequestCondition: Sendable, Hashable {
    /// Unix seconds, and the file that has this time.
    case modifiedSince(Int, file: String? = nil)
    /// A file with an entity tag; if that is missing or empty, nothing is asked.
    case tag(file: String)

    var isTag: Bool { if case .tag = self { true } else { false } }

    /// Longest entity tag that is read.
    private static let tagBytesMax = 1024

    /// Parses a date of HTTP, `2026-11-20` or `2026-11-20T22:17:13Z`, or takes the time of a file;
    /// `nil` if that is not there, as before the first fetch.
    ///
    /// - Throws: `usage` for a text with blanks or a number, which is hardly a file.
    init?(time text: String, _ option: String) throws(FetchError) {
        var status = stat()
        let day = text.split(separator: "-", omittingEmptySubsequences: false)
            .compactMap { ASCII.decimal($0.utf8, max: 9999) }
        if let time = HTTPDate.unixSeconds(text) ?? UTCDate.seconds(text) {
            self = .modifiedSince(time)
        } else if text.utf8.count == 10, day.count == 3,
            let day = CivilDay(year: day[0], month: day[1], day: day[2])
        {
            self = .modifiedSince(day.start)
        } else if stat(text, &status) == 0 {
            self = .modifiedSince(Int(status.st_mtim.tv_sec), file: text)
        } else {
            let isDate =
                text.utf8.contains(ASCII.space) || text.utf8.first.map(ASCII.isDigit) ?? true
            guard isDate else { return nil }
            throw usageError(
                "\(option) wants a date or a file, not \"\(text)\"",
                hint: "a date is 2026-11-20, 2026-11-20T22:17:13Z or "
                    + "\"Fri, 20 Nov 2026 22:17:13 GMT\"")
        }
    }

    /// The validator for it; `nil` if there is none.
    ///
    /// - Throws: `read`.
    func validator() throws(FetchError) -> String? {
        switch self {
        case .modifiedSince(let time, _): return "date " + UTCDate.http(time)
        case .tag(let path):
            do throws(SystemError) {
                let bytes = try FileBytes.read(path, limit: Self.tagBytesMax)
                let tag = bytes[...].withoutLineEnd.trimmed
                return tag.isEmpty ? nil : "etag " + String(decoding: tag, as: UTF8.self)
            } catch {
                if error.number == ENOENT { return nil }
                throw FetchError(.read, .input, "cannot read \(path)", error)
            }
        }
    }
}
