// SPDX-License-Identifier: MIT
internal import CSmallWebProgram
@preconcurrency internal import Glibc
package import SmallWebCore

/// The means by which this machine restricts a program to its exchange.
package struct Containment: Sendable, Hashable {
    package struct Means: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        init(_ means: Int) { self.init(rawValue: UInt32(means)) }

        /// A PID namespace: it hides other processes, and its processes end with the first one.
        package static let pids = Means(SWPROGRAM_PIDS)
        /// A network namespace without an interface.
        package static let network = Means(SWPROGRAM_NETWORK)
        /// A filter of system calls.
        package static let seccomp = Means(SWPROGRAM_SECCOMP)
        /// Landlock, for files.
        package static let landlock = Means(SWPROGRAM_LANDLOCK)
        /// A /proc of its own.
        package static let proc = Means(SWPROGRAM_PROC)
        /// A limit on the number of its processes.
        package static let processes = Means(SWPROGRAM_PROCESSES)
        /// A user namespace, which an ordinary user needs for the others.
        package static let users = Means(SWPROGRAM_USERS)
        /// A minimal read-only file system, with a temporary one of limited size.
        package static let view = Means(SWPROGRAM_VIEW)
        /// Memory and processes are added up; exceeding a limit ends the exchange.
        package static let watch = Means(SWPROGRAM_WATCH)
    }

    package let means: Means
    /// Landlock's ABI version; 0 when the kernel has none.
    package let landlockVersion: Int

    init(_ means: Means) {
        self.means = means
        landlockVersion = means.contains(.landlock) ? Int(swprogram_landlock()) : 0
    }

    /// Determined once, by a process that goes through all steps except for executing a program.
    package static let here = Result { () throws(FetchError) in
        try ContainedProcess.trial(Confinement())
    }

    /// Descriptions for people.
    package var facts: [(name: String, value: String)] {
        [
            ("network", network), ("files", files), ("metadata", metadata),
            ("processes", processes), ("number", number), ("memory", memory),
        ]
    }

    private var network: String {
        switch (means.contains(.network), means.contains(.seccomp)) {
        case (true, true): "none: a network namespace, and a filter of system calls"
        case (true, false): "none but local sockets: a network namespace"
        case (false, true): "none: a filter of system calls"
        case (false, false): "not kept away: this system has no means for it"
        }
    }

    private var files: String {
        let kept =
            "reads the system's programs, its own and its folder alone, writes to its temporary"
            + " directory alone"
        let landlock = "Landlock \(landlockVersion)"
        return switch (means.contains(.view), means.contains(.landlock)) {
        case (true, true): "\(kept) (a mount namespace, and \(landlock))"
        case (true, false): "\(kept) (a mount namespace)"
        case (false, true): "\(kept), but sees names and sizes of others (\(landlock))"
        case (false, false):
            "not kept away: this system has neither mount namespaces nor Landlock"
        }
    }

    private var metadata: String {
        switch (means.contains(.view), means.contains(.seccomp)) {
        case (true, _): "changes those of its temporary files alone (a mount namespace)"
        case (false, true): "changes none: a filter of system calls"
        case (false, false): "not kept away: this system has no means for it"
        }
    }

    private var processes: String {
        let end =
            means.contains(.pids)
            ? "ended by the kernel with the exchange (a PID namespace)"
            : "ended with the exchange, as a group: this system has no PID namespaces"
        let isHidden = !means.isDisjoint(with: [.proc, .view, .landlock])
        return end + (isHidden ? "; sees its own alone" : "; sees the names of others")
    }

    private var number: String {
        let most = "at most \(SWPROGRAM_PROCESSES_MAX) at a time"
        if means.contains(.processes) {
            return most
                + (means.contains(.users)
                    ? " (a limit of its user namespace)"
                    : " beyond those that you have when it starts (a limit of your account)")
        }
        return means.contains(.watch)
            ? "\(most), or it is ended: they are counted every 10 ms" : "any number at a time"
    }

    private var memory: String {
        let sum =
            means.contains(.watch)
            ? "the bound is for all of its processes and its temporary files, added up every 10 ms"
            : "the bound is for each of its processes: this system does not list them"
        return means.contains(.view)
            ? sum + "; its temporary files are in a file system of that size" : sum
    }
}

/// The restrictions of a program. Tests can leave some out.
package struct Confinement: Sendable, Hashable {
    /// Home directories, which it must not read: absolute, without links. The user's own comes
    /// first.
    package let homes: [String]
    /// Additional readable paths: absolute, and without links, now and when it starts.
    let reads: [String]
    /// Means that are not used.
    package let without: Containment.Means

    package init(
        home: String? = nil, reads: [String] = [], without: Containment.Means = []
    ) {
        self.reads = reads
        let named = home ?? getenv("HOME").map { String(systemName: $0) } ?? ""
        // The usual homes are protected whatever HOME says.
        let usual = ["/root", "/home"]
        homes = ((named.hasPrefix("/") ? [named] : []) + usual).map(resolvingLinks)
        self.without = without
    }

    /// PATH for a program in `folder` and its interpreters, without relative directories, and
    /// without directories in a home unless they are below `folder`.
    func searchPath(folder: String) -> [SearchPlace] {
        let all = getenv("PATH").map { String(systemName: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        let places = Self.pathPlaces.withLock { known in
            if let places = known[all] { return places }
            let places = all.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
                .map { (path: $0, resolved: resolvingLinks($0)) }
            known[all] = places
            return places
        }
        return places.filter {
            isBelow($0.resolved, folder) || !isInHome($0.resolved)
        }
    }

    /// True if a path without links is in a home directory. The root directory never is one.
    private func isInHome(_ path: String) -> Bool {
        homes.contains { $0 != "/" && isBelow(path, $0) }
    }

    /// A directory of PATH, and its path without links.
    typealias SearchPlace = (path: String, resolved: String)

    /// Cache by value of PATH: resolving links takes a system call per component.
    private static let pathPlaces = Locked<[String: [SearchPlace]]>([:])

    /// Paths that every program may read.
    private static let systemPlaces: [String] = {
        var places: [String] = []
        var next = swprogram_places()
        while let place = next.pointee {
            places.append(String(systemName: place))
            next += 1
        }
        return places
    }()

    /// Paths that a program may read in addition: its folder, and the folders of executables.
    /// Minimal, without paths below others; a link is readable by itself alone.
    ///
    /// - Parameters:
    ///   - executables: The result of ``Provenance``.
    ///   - arguments: Absolute paths of files outside of the home directories become readable.
    func places(
        folder: String, executables: [String], arguments: [String] = []
    ) -> [String] {
        let files = arguments.filter { path in
            path.hasPrefix("/") && !isInHome(resolvingLinks(path)) && fileKind(path) != S_IFDIR
        }
        let wanted =
            [folder, resolvingLinks(folder)] + files
            // Executables in the folder have no surroundings: it may be a single file.
            + executables.filter { !isBelow($0, folder) }
            .flatMap { fileKind($0) == S_IFDIR ? [$0] : Self.surroundings($0, homes) }
        var places: [String] = []
        for place in wanted where place != "/" {
            if (Self.systemPlaces + places).contains(where: { isBelow(place, $0) }) { continue }
            places.removeAll { isBelow($0, place) }
            places.append(place)
        }
        return places
    }

    /// The folder of an executable, and the library directories next to a folder named `bin`; only
    /// the file if its folder contains a home directory.
    private static func surroundings(_ path: String, _ homes: [String]) -> [String] {
        let folder = directory(of: path)
        if folder == "/" || homes.contains(where: { isBelow($0, folder) }) { return [path] }
        let above = directory(of: folder)
        guard folder.hasSuffix("/bin"), above != "/" else { return [folder] }
        return [folder] + ["lib", "lib64", "pyvenv.cfg"].map { above + "/" + $0 }
    }

    /// Entries of PATH that the program can see: some shells give up at others.
    static func visible(_ search: [SearchPlace], _ places: [String]) -> [String] {
        func canBeSeen(_ path: String) -> Bool {
            systemPlaces.contains { isBelow(path, $0) } || places.contains { isBelow(path, $0) }
        }
        return search.filter { canBeSeen($0.path) && canBeSeen($0.resolved) }.map(\.path)
    }
}

/// True if `path` is `directory` or below it. Both are absolute.
func isBelow(_ path: String, _ directory: String) -> Bool {
    path == directory || path.hasPrefix(directory + "/")
}
