// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWeb
package import SmallWebCore

/// The pages of a user: archives `pages-N.warc.gz` with their indexes, of which a run adds to one.
package final class PageCache: Sendable {
    /// Directory and beginning of the names.
    private let (directory, prefix): (String, String)
    private let bytesMax: Int
    private let software: String
    private let state = Locked(State())

    private struct State {
        var writer: ArchiveWriter?
        var failure: FetchError?
    }

    /// Parts of the size limit that a file may have.
    private static let filesMin = 8
    private static let suffix = ".warc.gz"

    /// - Parameters:
    ///   - stem: Path of the archives up to their number.
    ///   - bytesMax: Size of all files, from which the oldest one goes.
    package init(_ stem: String, bytesMax: Int, software: String) {
        let slash = stem.lastIndex(of: "/") ?? stem.startIndex
        (directory, prefix) = (String(stem[..<slash]), String(stem[slash...].dropFirst()))
        (self.bytesMax, self.software) = (bytesMax, software)
    }

    /// The archives, the oldest first.
    package var files: [(path: String, bytes: Int)] {
        numbers.map { number in
            var status = stat()
            let path = path(number)
            return (path, stat(path, &status) == 0 ? Int(status.st_size) : 0)
        }
    }

    private var numbers: [Int] {
        let names = (try? directoryNames(directory)) ?? []
        return names.compactMap { name in
            guard name.hasPrefix(prefix), name.hasSuffix(Self.suffix) else { return nil }
            let digits = name.dropFirst(prefix.count).dropLast(Self.suffix.count)
            return ASCII.decimal(digits.utf8, max: 1 << 40)
        }.sorted()
    }

    private func path(_ number: Int) -> String {
        "\(directory)/\(prefix)\(number)\(Self.suffix)"
    }

    /// The indexes of all archives that have one; those that a kill has left behind are made first.
    package func indexes() -> [CaptureIndex] {
        files.compactMap { path, bytes in
            if let index = CaptureIndex(of: path), index.isWhole { return index }
            // A file that cannot be read keeps no page from being fetched.
            _ = try? CaptureIndex.update(path)
            return CaptureIndex(of: path)
        }
    }

    /// A network whose pages go into the cache.
    package func recording(_ network: Network) -> Network {
        network.tapped { [self] request, hop in
            guard request.upload == nil, request.input == nil, !hop.hasIdentity,
                let archive = writer()
            else { return nil }
            return RecordingTap(request, hop, archive)
        }
    }

    /// The archive of this run, made when it is needed.
    private func writer() -> ArchiveWriter? {
        state.withLock { state in
            if state.writer == nil, state.failure == nil {
                do throws(FetchError) {
                    state.writer = try open()
                } catch {
                    state.failure = error
                }
            }
            return state.writer
        }
    }

    private func open() throws(FetchError) -> ArchiveWriter {
        do throws(SystemError) {
            try makeDirectories(directory, mode: 0o700)
        } catch {
            throw FetchError(.write, .output, "cannot make the cache \(directory)", error)
        }
        let last = files.last
        var number = numbers.last ?? 0
        var isFull = last.map { $0.bytes > bytesMax / Self.filesMin } ?? true
        while true {
            if isFull { number += 1 }
            do throws(FetchError) {
                return try ArchiveWriter(
                    path(number), software: software, commandLine: "smallweb",
                    keepsPagesAlone: true)
            } catch {
                // In use, or damaged. On a full disk the next one would fail, too.
                guard error.errnoName == nil else { throw error }
                isFull = true
            }
        }
    }

    /// Completes the index, and removes the oldest archives above the limit.
    ///
    /// - Returns: The error that has kept pages out of the cache.
    package func finish() -> FetchError? {
        let (archive, failure) = state.withLock { state in
            let result = (state.writer, state.failure ?? state.writer?.failure)
            state.writer = nil
            return result
        }
        guard let archive else { return failure }
        do throws(FetchError) {
            try archive.finishIndex()
        } catch {
            return failure ?? error
        }
        var files = files
        while files.reduce(0, { $0 + $1.bytes }) > bytesMax, files.count > 1 {
            Self.remove(files.removeFirst().path)
        }
        return failure
    }

    /// Removes all pages.
    package func clear() { for file in files { Self.remove(file.path) } }

    private static func remove(_ path: String) {
        unlink(path)
        CaptureIndex.remove(of: path)
    }
}
