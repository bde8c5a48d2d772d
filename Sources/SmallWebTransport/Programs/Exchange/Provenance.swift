// SPDX-License-Identifier: MIT
internal import Glibc
package import SmallWebCore

/// Checks executables: a file that other users can write may not be run.
///
/// Each file, each directory on its path and each link must belong to root or the user, and only
/// its owner may write it. A directory with the sticky bit, such as `/tmp`, may be on the path:
/// others cannot replace files in it.
package struct Provenance {
    /// Modes of the paths that were checked, without links.
    private var judged: [String: mode_t] = [:]
    private var entries = 0
    /// Paths of the program, its interpreter and so on, and of links that lead to them.
    private var executables: [String] = []
    /// Links on the last path that was followed, each in a directory without links.
    private var links: [String] = []

    /// Limit of files and directories in a plugin's folder.
    private static let entriesMax = 10_000
    /// The kernel's limits, for links in a path, and for interpreters that need interpreters.
    private static let linksMax = 40
    private static let interpretersMax = 5

    package init() {}

    // MARK: A plugin

    /// Executables, by the folder, PATH and the words of a command.
    private static let known = Locked<[[String]: [String]]>([:])

    /// Checks a plugin's folder with all files in it, its program, and the program's interpreters.
    ///
    /// Once in this process: only root and the user can change files that have passed, and these
    /// are free to do so.
    ///
    /// - Returns: Paths of the executables (the program, its interpreter, and so on), and of links
    ///   that lead to them.
    /// - Throws: `plugin`, naming the problem and the command that corrects it.
    @discardableResult
    package static func check(folder: String, words: [String]) throws(FetchError) -> [String] {
        let path = getenv("PATH").map { String(systemName: $0) }
        let plugin = [folder, path ?? ""] + words
        if let executables = known.withLock({ $0[plugin] }) { return executables }
        var judge = Provenance()
        try judge.judge(
            folder: folder, words: words,
            search: Confinement().searchPath(folder: folder).map(\.path))
        known.withLock { $0[plugin] = judge.executables }
        return judge.executables
    }

    /// - Parameters:
    ///   - folder: Absolute; a single file if that is all of the plugin.
    ///   - words: The program and its arguments.
    ///   - search: The directories of PATH that the program may use.
    mutating func judge(
        folder: String, words: [String], search: [String]
    ) throws(FetchError) {
        guard let place = try follow(folder) else { throw Self.missing(folder) }
        if judged[place].map(Self.isDirectory) ?? true { try judgeTree(place) }
        for word in words.dropFirst() where word.hasPrefix("./") || word.hasPrefix("/") {
            let path = word.hasPrefix("/") ? word : folder + "/" + word
            guard try follow(path) != nil || word.hasPrefix("/") else { throw Self.missing(path) }
        }
        try judge(command: words, in: folder, search)
    }

    /// Checks all files in a folder, at any depth: a program may load its neighbours.
    private mutating func judgeTree(_ folder: String) throws(FetchError) {
        var (pending, seen) = ([folder], Set<String>())
        while let directory = pending.popLast() {
            guard seen.insert(directory).inserted else { continue }
            guard judged[directory].map({ $0 & 0o022 == 0 }) ?? false else {
                throw Self.writable(directory)
            }
            let number: Int32
            do throws(SystemError) {
                number = try systemCall { open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            } catch {
                throw Self.failure(directory, error)
            }
            let descriptor = Descriptor(owning: number)
            for name in TemporaryDirectory.names(in: descriptor.borrowed) {
                entries += 1
                guard entries <= Self.entriesMax else {
                    throw .plugin(
                        "\(folder) holds more than \(Self.entriesMax) files, all of which must be"
                            + " judged before its program runs")
                }
                let path = directory + "/" + String(systemName: name)
                if let place = try follow(path), judged[place].map(Self.isDirectory) ?? false {
                    pending.append(place)
                }
            }
        }
    }

    // MARK: Programs

    /// Checks the program that a command runs, and its interpreters.
    private mutating func judge(
        command words: [String], in folder: String, _ search: [String], depth: Int = 0
    ) throws(FetchError) {
        guard depth <= Self.interpretersMax, let name = words.first,
            let path = try find(name, in: folder, search), let place = try follow(path)
        else { return }
        executables += links + [place]
        if name.hasPrefix("./") || name.hasPrefix("/") {
            guard judged[place].map(Self.isDirectory) == false, access(place, X_OK) == 0 else {
                throw FetchError(
                    .plugin, .plugin, "\(path) cannot be run: it is not an executable file",
                    errnoName: SystemError(number: EACCES).name, hint: "chmod +x '\(path)'")
            }
        }
        if let line = Self.firstLine(of: place) {
            try judge(command: line, in: folder, search, depth: depth + 1)
        } else if place.hasSuffix("/env") || name == "env" || name.hasSuffix("/env") {
            guard let command = Self.command(ofEnv: words.dropFirst()) else {
                throw .plugin(
                    "what '\(words.joined(separator: " "))' runs cannot be judged",
                    hint: "write: env NAME, or the path of the program")
            }
            try judge(command: command, in: folder, search, depth: depth + 1)
        }
    }

    /// The path of a program, found as the runner and `env` find it. Others must not be able to put
    /// another program of its name before it.
    private mutating func find(
        _ name: String, in folder: String, _ search: [String]
    ) throws(FetchError) -> String? {
        if name.hasPrefix("/") { return name }
        if name.hasPrefix("./") {
            let path = folder + name.dropFirst()
            guard try follow(path) != nil else { throw Self.missing(path) }
            return path
        }
        for place in search {
            guard let directory = try follow(place), let mode = judged[directory] else { continue }
            guard mode & 0o022 == 0 else { throw Self.writable(directory) }
            let path = place + "/" + name
            guard let file = try follow(path), judged[file].map(Self.isDirectory) == false,
                access(file, X_OK) == 0
            else { continue }
            return path
        }
        return nil
    }

    /// The interpreter of a script and its argument; `nil` for other files.
    private static func firstLine(of path: String) -> [String]? {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { return nil }
        let descriptor = Descriptor(owning: number)
        // The kernel reads no more than this.
        var bytes = [UInt8](repeating: 0, count: 256)
        guard let count = try? systemCall({ read(descriptor.borrowed, &bytes, bytes.count) }),
            bytes[..<count].starts(with: "#!".utf8)
        else { return nil }
        let line = bytes[2..<count].prefix { $0 != ASCII.lineFeed && $0 != 0 }
        let words = line.split(maxSplits: 1) { $0 == 0x20 || $0 == 0x09 }
            .map { String(systemBytes: $0) }
        guard let interpreter = words.first else { return nil }
        let rest = words.dropFirst().map(\.trimmed).filter { !$0.isEmpty }
        let isPath = interpreter.hasPrefix("/") || interpreter.hasPrefix("./")
        return [isPath ? interpreter : "./" + interpreter] + rest
    }

    /// The option of `env` that splits its argument: the kernel passes the rest of a first line as
    /// one.
    private static let splitting = "-" + "S"

    /// The command that `env` runs; `nil` for other options, PATH and quotes.
    static func command(ofEnv arguments: ArraySlice<String>) -> [String]? {
        var words = Array(arguments)
        while let word = words.first {
            words.removeFirst()
            if word.hasPrefix(splitting) {
                let isAlone = word == splitting && !words.isEmpty
                let text = isAlone ? words.removeFirst() : String(word.dropFirst(2))
                words = text.split(whereSeparator: \.isWhitespace).map(String.init) + words
            } else if word.hasPrefix("-") || word.hasPrefix("PATH=")
                || word.contains(where: { "\\'\"$".contains($0) })
            {
                return nil
            } else if !word.contains("=") {
                return [word] + words
            }
        }
        return nil
    }

    // MARK: Paths

    /// Checks a path, step by step through all links.
    ///
    /// - Returns: The path without links; `nil` if it does not exist.
    /// - Throws: `plugin` for a path that others can write.
    package mutating func follow(_ path: String) throws(FetchError) -> String? {
        var (here, rest) = ("", Self.components(path))
        links = []
        try judge("/")
        while let name = rest.popLast() {
            if name == "." { continue }
            if name == ".." {
                here = String(here.prefix(upTo: here.lastIndex(of: "/") ?? here.startIndex))
                continue
            }
            let next = here + "/" + name
            guard let mode = try judge(next, below: here.isEmpty ? "/" : here) else { return nil }
            guard mode & S_IFMT == S_IFLNK else {
                here = next
                continue
            }
            links.append(next)
            guard links.count <= Self.linksMax else {
                throw Self.failure(path, SystemError(number: ELOOP))
            }
            let target = Self.target(of: next)
            if target.hasPrefix("/") { here = "" }
            rest += Self.components(target)
        }
        return here.isEmpty ? "/" : here
    }

    /// In reverse order, to be taken from the end.
    private static func components(_ path: String) -> [String] {
        path.split(separator: "/").reversed().map(String.init)
    }

    private static func target(of link: String) -> String {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &target, target.count)
        return String(systemBytes: target[..<max(0, count)].map { UInt8(bitPattern: $0) })
    }

    /// Checks one file, without the directories above it.
    ///
    /// - Returns: Its mode; `nil` if it does not exist.
    @discardableResult
    private mutating func judge(
        _ path: String, below directory: String = "/"
    ) throws(FetchError) -> mode_t? {
        if let mode = judged[path] { return mode }
        var facts = stat()
        do throws(SystemError) {
            _ = try systemCall { lstat(path, &facts) }
        } catch {
            guard error.number == ENOENT || error.number == ENOTDIR else {
                throw Self.failure(path, error)
            }
            // Other users who can create it decide its contents.
            guard judged[directory].map({ $0 & 0o022 == 0 }) ?? true else {
                throw Self.writable(directory)
            }
            return nil
        }
        guard Self.owners.contains(facts.st_uid) else {
            throw .plugin("\(path) belongs to another user, who can write it")
        }
        let kind = facts.st_mode & S_IFMT
        let isSticky = kind == S_IFDIR && facts.st_mode & S_ISVTX != 0
        // The bytes of a device do not depend on its writers.
        if kind != S_IFLNK && kind != S_IFCHR && !isSticky && facts.st_mode & 0o022 != 0 {
            throw Self.writable(path)
        }
        judged[path] = facts.st_mode
        return facts.st_mode
    }

    /// Root, the user, and the owner of `/`, which stands for root in a user namespace without
    /// root.
    private static let owners: Set<uid_t> = {
        var facts = stat()
        return stat("/", &facts) == 0 ? [0, getuid(), facts.st_uid] : [0, getuid()]
    }()

    private static func isDirectory(_ mode: mode_t) -> Bool { mode & S_IFMT == S_IFDIR }

    private static func writable(_ path: String) -> FetchError {
        .plugin("others can write \(path)", hint: "chmod go-w '\(path)'")
    }

    private static func missing(_ path: String) -> FetchError {
        failure(path, SystemError(number: ENOENT))
    }

    private static func failure(_ path: String, _ error: SystemError) -> FetchError {
        FetchError(.plugin, .plugin, path, error)
    }
}
