// SPDX-License-Identifier: MIT
internal import CSmallWebProgram
@preconcurrency internal import Glibc
package import SmallWebCore

/// A plugin's program and all processes that it starts: without a network, within limits, with a
/// temporary directory of its own. All end with this object.
///
/// They end at the latest with the thread that started them.
package final class ContainedProcess {
    private var supervisor: swprogram_supervisor
    /// `nil` with a starter: its programs have a private file system at that path.
    private let temporary: TemporaryDirectory?
    let temporaryPath: String
    private let name: String
    private let memoryBytes: Int
    private var report: swprogram_report?
    private var isOver = false

    /// Starts the program.
    ///
    /// - Parameters:
    ///   - folder: Absolute; the working directory, unless it is a single file.
    ///   - words: The program and its arguments. A program beginning with `./` is below `folder`;
    ///     unless absolute, others are searched for in PATH.
    ///   - environment: In addition to PATH and TMPDIR, and to LANG, LC_* and TZ if not set here.
    ///     Without NUL bytes.
    ///   - descriptors: The program's descriptors from 0 on, 6 to 13; -1 is /dev/null, and from 6
    ///     on a closed one. They are blocking, and stay the caller's, who closes them at once:
    ///     otherwise the other ends of pipes see no end of file.
    ///   - executables: Files that run the program and must therefore be visible; see
    ///     ``Provenance``.
    /// - Throws: `plugin`, naming the program.
    package init(
        folder: String, words: [String], environment: [String: String],
        limits: ProgramRequest.Limits, descriptors: [Int32], executables: [String] = [],
        confinement: Confinement = Confinement()
    ) throws(FetchError) {
        let counts = Int(SWPROGRAM_USUAL_DESCRIPTORS)...Int(SWPROGRAM_DESCRIPTORS)
        precondition(counts ~= descriptors.count && !words.isEmpty)
        name = words[0]
        memoryBytes = limits.memoryBytes
        let search = confinement.searchPath(folder: folder)
        let path = try Self.find(name, folder: folder, search: search)
        let places = confinement.places(
            folder: folder, executables: [path] + executables, arguments: Array(words.dropFirst()))
        do throws(SystemError) {
            let variables = Self.variables(
                environment, search: Confinement.visible(search, places + confinement.reads))
            let plan = Plan(
                path: path, words: words, environment: variables,
                folder: fileKind(folder) == S_IFREG ? "/" : folder, places: places,
                reads: confinement.reads, limits: limits, descriptors: descriptors,
                without: confinement.without)
            if let (started, path) = plan.startByStarter() {
                (supervisor, temporary, temporaryPath) = (started, nil, path)
            } else {
                let directory = try TemporaryDirectory()
                supervisor = try plan.start(temporary: directory.path)
                (temporary, temporaryPath) = (directory, directory.path)
            }
        } catch {
            throw Self.failure(name, error)
        }
    }

    deinit {
        end()
        close(supervisor.report)
    }

    /// Becomes readable when the program has ended, by itself or by ``end()``. Never blocks.
    package var endDescriptor: Int32 { supervisor.report }

    /// The reason of the program's end; `nil` while it runs. Processes that it has left are still
    /// running until ``end()``.
    ///
    /// - Throws: `plugin` when it could not be run.
    package func reap() throws(FetchError) -> ProgramEnding.Reason? {
        if report == nil {
            var taken = swprogram_report()
            let result = swprogram_report(&supervisor, &taken)
            if result == 0 { return nil }
            // The supervisor was killed, and the program with it.
            if result < 0 { taken.number = SIGKILL }
            report = taken
        }
        guard let report else { return nil }
        if report.stage != Int32(SWPROGRAM_ENDED.rawValue) { throw failure(report) }
        let signal = report.number & 0x7F
        return signal == 0 ? .exited(report.number >> 8 & 0xFF) : .signalled(signal)
    }

    /// True if it was ended for exceeding a limit of memory or processes.
    package var wasTooMuch: Bool {
        guard let stage = report?.stage else { return false }
        return [SWPROGRAM_MEMORY, SWPROGRAM_COUNT].contains { stage == Int32($0.rawValue) }
    }

    /// The containment that was in force, known once it has ended.
    package var containment: Containment? {
        report.map { Containment(Containment.Means(rawValue: $0.holds)) }
    }

    /// Ends the program and all processes that it has started. Returns when they and the temporary
    /// directory are gone. Idempotent.
    package func end() {
        guard !isOver else { return }
        isOver = true
        swprogram_end(&supervisor)
        swprogram_guard(0)
        temporary?.remove()
    }

    /// The containment that a program would have, found out without one.
    static func trial(_ confinement: Confinement) throws(FetchError) -> Containment {
        do throws(SystemError) {
            let temporary = try TemporaryDirectory()
            let plan = Plan(without: confinement.without)
            var supervisor = try plan.start(temporary: temporary.path)
            var event = pollfd(fd: supervisor.report, events: Int16(POLLIN), revents: 0)
            _ = try systemCall { poll(&event, 1, -1) }
            var report = swprogram_report()
            swprogram_report(&supervisor, &report)
            swprogram_end(&supervisor)
            swprogram_guard(0)
            close(supervisor.report)
            return Containment(Containment.Means(rawValue: report.holds))
        } catch {
            throw FetchError(.plugin, .plugin, "cannot run a program", error, remedy: error.remedy)
        }
    }

    // MARK: Starting

    private static func find(
        _ name: String, folder: String, search: [Confinement.SearchPlace]
    ) throws(FetchError) -> String {
        guard !name.hasPrefix("/") else { return try checked(name, name) }
        guard !name.hasPrefix("./") else { return try checked(folder + name.dropFirst(), name) }
        for place in search {
            let path = place.path + "/" + name
            if isProgram(path) { return path }
        }
        throw FetchError(
            .plugin, .plugin,
            "the program \(name) is in none of the directories of PATH that a"
                + " plugin may use", errnoName: SystemError(number: ENOENT).name)
    }

    private static func checked(_ path: String, _ name: String) throws(FetchError) -> String {
        guard !isProgram(path) else { return path }
        let number = errno
        throw failure(name, SystemError(number: number == 0 ? EACCES : number))
    }

    /// True if a file may be run; sets errno, to 0 when it is not a regular file.
    private static func isProgram(_ path: String) -> Bool {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return false }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            errno = 0
            return false
        }
        return access(path, X_OK) == 0
    }

    /// - Returns: All variables but TMPDIR.
    private static func variables(_ given: [String: String], search: [String]) -> [String] {
        var all = given
        for (name, value) in inherited where all[name] == nil { all[name] = value }
        all["PATH"] = search.joined(separator: ":")
        all["TMPDIR"] = nil
        return all.map { $0 + "=" + $1 }
    }

    /// Variables of smallweb's own environment that every program gets: LANG, TZ, LC_*.
    private static var inherited: [(String, String)] {
        var found: [(String, String)] = []
        var next = environ
        while let entry = next.pointee {
            next += 1
            guard entry[0] == 76 || entry[0] == 84 else { continue }
            let text = String(systemName: entry)
            guard let equals = text.firstIndex(of: "=") else { continue }
            let name = String(text[..<equals])
            if name == "LANG" || name == "TZ" || name.hasPrefix("LC_") {
                found.append((name, String(text[equals...].dropFirst())))
            }
        }
        return found
    }

    /// Parameters of a supervisor; without a path it starts nothing, and only reports.
    private struct Plan {
        var path: String?
        var words: [String] = []
        var environment: [String] = []
        var folder = "/"
        var places: [String] = []
        var reads: [String] = []
        var limits = ProgramRequest.Limits()
        var descriptors: [Int32] = []
        let without: Containment.Means

        /// - Returns: The supervisor and the value of TMPDIR; `nil` if the program has to be
        ///   started without a starter.
        func startByStarter() -> (swprogram_supervisor, String)? {
            guard without.isEmpty else { return nil }
            let common = ProgramStarter.Plan(folder: folder, places: places, reads: reads)
            let starter = ProgramStarter.next(of: common) { directory in
                withProgram(temporary: directory.path) { program in
                    var starter = swprogram_starter()
                    return swprogram_open_starter(&program, &starter) != 0 ? starter : nil
                }
            }
            guard let starter else { return nil }
            do throws(SystemError) {
                let supervisor = try start(
                    temporary: starter.temporaryPath, starter: starter.descriptor)
                return (supervisor, starter.temporaryPath)
            } catch {
                // Unless the arguments were too long, the starter was killed.
                if error.number != EMSGSIZE { ProgramStarter.forget(common) }
                return nil
            }
        }

        func start(
            temporary: String, starter: Int32 = -1
        ) throws(SystemError) -> swprogram_supervisor {
            var supervisor = swprogram_supervisor()
            swprogram_guard(1)
            let status = withProgram(temporary: temporary) { program in
                program.starter = starter
                return swprogram_start(&program, &supervisor)
            }
            guard status == 0 else {
                swprogram_guard(0)
                throw SystemError(number: status ?? ENOMEM)
            }
            return supervisor
        }

        /// - Returns: `nil` without memory.
        private func withProgram<Result>(
            temporary: String, _ body: (inout swprogram) -> Result?
        ) -> Result? {
            let arguments = CStrings(words)
            let variables = CStrings(environment + ["TMPDIR=" + temporary])
            let (places, reads) = (CStrings(places), CStrings(reads))
            let paths = CStrings([folder, temporary] + (path.map { [$0] } ?? []))
            defer { withExtendedLifetime((arguments, variables, places, reads, paths)) {} }
            guard let folder = paths.list[0], let temporary = paths.list[1] else { return nil }
            let all =
                descriptors
                + Array(repeating: -1, count: Int(SWPROGRAM_DESCRIPTORS) - descriptors.count)
            var program = swprogram(
                path: paths.list[2], arguments: arguments.list, environment: variables.list,
                places: places.list, reads: reads.list, folder: folder, temporary: temporary,
                descriptors: (
                    all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8], all[9],
                    all[10], all[11], all[12]
                ), processor_seconds: UInt64(limits.processorSeconds),
                memory_bytes: UInt64(limits.memoryBytes),
                descriptors_max: UInt64(limits.descriptors), without: without.rawValue, starter: -1)
            return body(&program)
        }
    }

    // MARK: Messages

    private func failure(_ report: swprogram_report) -> FetchError {
        let error = SystemError(number: report.number)
        switch report.stage {
        case Int32(SWPROGRAM_FOLDER.rawValue):
            return FetchError(.plugin, .plugin, "cannot start \(name) in its folder", error)
        case Int32(SWPROGRAM_EXECUTE.rawValue) where report.number == ENOENT:
            return FetchError(
                .plugin, .plugin,
                "cannot run \(name): the interpreter in its first line is missing",
                errnoName: error.name)
        case Int32(SWPROGRAM_MEMORY.rawValue):
            return .plugin(
                "\(name) was ended: what it had started and its temporary files took more than"
                    + " the \(memoryBytes) bytes that its manifest allows (memory_bytes)")
        case Int32(SWPROGRAM_COUNT.rawValue):
            return .plugin(
                "\(name) was ended: it had more than \(SWPROGRAM_PROCESSES_MAX) processes and"
                    + " threads at a time")
        default: return Self.failure(name, error)
        }
    }

    private static func failure(_ name: String, _ error: SystemError) -> FetchError {
        let reason = error.number == 0 ? "it was killed before it began" : error.sentence
        return FetchError(
            .plugin, .plugin, "cannot run \(name): \(reason)", errnoName: error.name,
            remedy: error.remedy)
    }
}

/// A NULL-terminated array of C strings, valid as long as this object lives.
final class CStrings {
    typealias List = UnsafeMutablePointer<UnsafePointer<CChar>?>

    let list: List
    private let count: Int

    init(_ strings: [String]) {
        count = strings.count
        list = .allocate(capacity: count + 1)
        for (index, string) in strings.enumerated() {
            (list + index).initialize(to: UnsafePointer(strdup(string.systemName)))
        }
        (list + count).initialize(to: nil)
    }

    deinit {
        for index in 0..<count { free(UnsafeMutablePointer(mutating: list[index])) }
        list.deallocate()
    }
}
