// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWeb
internal import SmallWebCore
package import SmallWebText

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
        var hasLeftOut = false
        /// By path and file number: a path may get another file.
        var indexes: [String: CaptureIndex] = [:]
    }

    /// Parts of the size limit that a file may have, and that a page may have.
    private static let (filesMin, pagesMin) = (8, 2)
    private static let suffix = ".warc.gz"

    /// - Parameters:
    ///   - stem: Path of the archives up to their number.
    ///   - bytesMax: Size of all files, from which the oldest one goes.
    package init(_ stem: String, bytesMax: Int, software: String) {
        let slash = stem.lastIndex(of: "/") ?? stem.startIndex
        (directory, prefix) = (String(stem[..<slash]), String(stem[slash...].dropFirst()))
        (self.bytesMax, self.software) = (bytesMax, software)
    }

    /// An archive that is there; its size is that of its index, too.
    private typealias File = (path: String, bytes: Int, inode: ino_t, changed: Double)

    /// The archives, by their number.
    private var files: [File] { numbers.compactMap { file(path($0)) } }
    package var sizes: [(bytes: Int, path: String)] { files.map { ($0.bytes, $0.path) } }

    private func file(_ path: String) -> File? {
        var (status, index) = (stat(), stat())
        guard stat(path, &status) == 0 else { return nil }
        let more = stat(CaptureIndex.path(of: path), &index) == 0 ? Int(index.st_size) : 0
        let changed = Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9
        return (path, Int(status.st_size) + more, status.st_ino, changed)
    }

    /// True if a page was not kept, as it was asked for with an identity.
    package var hasLeftOut: Bool { state.withLock { $0.hasLeftOut } }

    /// The error that keeps pages out of the cache.
    package var failure: FetchError? { state.withLock { $0.failure ?? $0.writer?.failure } }

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

    /// The indexes of all archives as these are now, also while others add to them.
    package func indexes() -> [CaptureIndex] {
        let files = files
        return state.withLock { state in
            var indexes: [String: CaptureIndex] = [:]
            let present = files.compactMap { file in
                let name = "\(file.path) \(file.inode)"
                indexes[name] = state.indexes[name] ?? Self.index(of: file.path)
                return indexes[name]
            }
            state.indexes = indexes
            for index in present { index.follow() }
            return present
        }
    }

    /// The index of an archive; one that a kill has left behind is completed first.
    private static func index(of path: String) -> CaptureIndex? {
        if let index = CaptureIndex(of: path), index.isWhole { return index }
        // A file that cannot be read keeps no page from being fetched.
        _ = try? CaptureIndex.update(path)
        return CaptureIndex(of: path)
    }

    /// Passes time, bytes and URL of each reply that `--offline` may answer with.
    package func forEachPage(
        _ body: (_ date: Int, _ bytes: Int, _ url: String) throws(FetchError) -> Void
    ) throws(FetchError) {
        let indexes = indexes()
        var changes: [String: Int] = [:]
        for index in indexes {
            try index.forEachLine(aside: true) { line in
                if line.isChange { changes[line.url] = max(changes[line.url] ?? 0, line.time) }
            }
        }
        for index in indexes {
            try index.forEachLine(aside: false) { line throws(FetchError) in
                guard line.time >= changes[line.url] ?? 0 else { return }
                try body(line.time / 1_000_000, line.exchange.count, line.url)
            }
        }
    }

    /// A network whose pages go into the cache.
    package func recording(_ network: Network) -> Network {
        network.tapped { [self] request, hop in
            let handler = hop.registry[request.scheme.name]?.handler
            if hop.hasIdentity, handler?.isSafe(request, hasIdentity: false) ?? false {
                state.withLock { $0.hasLeftOut = true }
            }
            guard handler?.isSafe(request, hasIdentity: hop.hasIdentity) ?? false,
                let archive = writer()
            else { return nil }
            return RecordingTap(request, hop, archive)
        }
    }

    /// Has the pages of a URL that are there answer no more.
    package func forget(_ uri: URI) {
        do throws(FetchError) {
            try writer()?.write(IndexLines.change, Array("{}".utf8), of: uri.display)
        } catch {
            state.withLock { $0.failure = error }
        }
    }

    /// The archive of this run, made when it is needed, and another one when it has become large.
    private func writer() -> ArchiveWriter? {
        state.withLock { state in
            if let writer = state.writer, writer.bytes > bytesMax / Self.filesMin {
                state.failure = end(writer)
                state.writer = nil
            }
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
        var number = numbers.last ?? 0
        var isFull = file(path(number)).map { $0.bytes > bytesMax / Self.filesMin } ?? true
        while true {
            if isFull { number += 1 }
            do throws(FetchError) {
                return try ArchiveWriter(
                    path(number), software: software, commandLine: "smallweb",
                    pageBytesMax: bytesMax / Self.pagesMin)
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
        let failure = failure
        let archive = state.withLock { state in
            defer { state.writer = nil }
            return state.writer
        }
        return archive.flatMap(end) ?? failure
    }

    private func end(_ archive: ArchiveWriter) -> FetchError? {
        do throws(FetchError) {
            try archive.finishIndex()
        } catch {
            return archive.failure ?? error
        }
        let files = files.sorted { $0.changed < $1.changed }
        var bytes = files.reduce(0) { $0 + $1.bytes }
        for file in files where bytes > bytesMax {
            if Self.remove(file.path) { bytes -= file.bytes }
        }
        return archive.failure
    }

    /// Removes all pages.
    package func clear() {
        for file in files {
            unlink(file.path)
            CaptureIndex.remove(of: file.path)
        }
    }

    /// - Returns: False for an archive that a process adds to.
    private static func remove(_ path: String) -> Bool {
        guard var file = try? Descriptor(opening: path, O_RDWR | O_NONBLOCK | O_NOFOLLOW),
            (try? file.lock()) ?? false
        else { return false }
        unlink(path)
        CaptureIndex.remove(of: path)
        return true
    }
}
