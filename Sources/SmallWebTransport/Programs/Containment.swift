// SPDX-License-Identifier: MIT
internal import CSmallWebProgram
@preconcurrency internal import Glibc
package import SmallWebCore

/// What keeps a program from everything but its exchange, on this machine.
package struct Containment: Sendable, Hashable {
    /// One way of keeping it.
    package struct Means: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        init(_ means: Int) { self.init(rawValue: UInt32(means)) }

        /// A PID namespace: it sees no other process, and all of its own end with it.
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
    }

    /// What holds.
    package let means: Means
    /// Of Landlock; 0 when the kernel has none.
    package let landlockVersion: Int

    init(_ means: Means) {
        self.means = means
        landlockVersion = means.contains(.landlock) ? Int(swprogram_landlock()) : 0
    }

    /// Found out by a process that does all that a program does, but for becoming one; once.
    package static let here: Result<Containment, FetchError> = {
        do throws(FetchError) {
            return .success(try ContainedProcess.trial(Confinement()))
        } catch {
            return .failure(error)
        }
    }()

    /// Whether anything keeps the program from the network.
    package var keepsNetworkAway: Bool { !means.isDisjoint(with: [.network, .seccomp]) }

    /// For people: what is kept away, and by what.
    package var facts: [(name: String, value: String)] {
        let network: String
        switch (means.contains(.network), means.contains(.seccomp)) {
        case (true, true): network = "none: a network namespace, and a filter of system calls"
        case (true, false): network = "none but local sockets: a network namespace"
        case (false, true): network = "none: a filter of system calls"
        case (false, false): network = "not kept away: this system has no means for it"
        }
        let files =
            means.contains(.landlock)
            ? "writes to its temporary directory alone, reads nothing of the home directory but"
                + " its own folder (Landlock \(landlockVersion))"
            : "not kept away: this system has no Landlock"
        let processes =
            means.contains(.pids)
            ? "ended by the kernel with the exchange (a PID namespace)"
            : "ended with the exchange, one after another: this system has no PID namespaces"
        let view =
            means.contains(.proc)
            ? "sees its own processes alone"
            : "sees the names of other processes"
        let count =
            means.contains(.processes) ? "at most 64 at a time" : "any number at a time"
        return [
            ("network", network), ("files", files), ("processes", processes), ("view", view),
            ("number", count),
        ]
    }
}

/// What a program is kept from, and what of it is left out: for tests.
package struct Confinement: Sendable, Hashable {
    /// Absolute, without links: what it must not read.
    package let home: String
    /// Not to be used.
    package let without: Containment.Means

    package init(home: String? = nil, without: Containment.Means = []) {
        let named = home ?? getenv("HOME").map { String(systemName: $0) } ?? ""
        // Where homes are, when nothing says which one it is.
        let usual = geteuid() == 0 ? "/root" : "/home"
        self.home = resolvingLinks(named.hasPrefix("/") ? named : usual)
        self.without = without
    }

    /// Whether reading is confined at all; nothing else can be read when home is everything.
    private var hidesHome: Bool {
        home != "/" && !without.contains(.landlock) && swprogram_landlock() > 0
    }

    /// What PATH says for a program that lies in `folder`: without relative places, and without
    /// those that it could see but not run from, at which some shells give up.
    func searchPath(folder: String) -> [String] {
        let all = getenv("PATH").map { String(systemName: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        let places = Self.places.withLock { known in
            if let places = known[all] { return places }
            let places = all.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
                .map { Place(path: $0, resolved: resolvingLinks($0)) }
            known[all] = places
            return places
        }
        guard hidesHome else { return places.map(\.path) }
        return places.filter { !$0.isBelow(home) || $0.isBelow(resolvingLinks(folder)) }.map(\.path)
    }

    /// One of PATH.
    private struct Place {
        let path: String
        let resolved: String

        func isBelow(_ directory: String) -> Bool {
            resolved == directory || resolved.hasPrefix(directory + "/")
        }
    }

    /// By PATH: each start would ask for the links of every part of every place.
    private static let places = Locked<[String: [Place]]>([:])
    private static let known = Locked<[String: [String]]>([:])
    /// More siblings than this are other people's homes, and would make each start slow.
    private static let siblingsMax = 256

    /// All of the file system but home, as the fewest paths that say so, since Landlock can only
    /// allow; `nil` for everything.
    var readable: [String]? {
        guard hidesHome else { return nil }
        if let paths = Self.known.withLock({ $0[home] }) { return paths }
        var paths: [String] = []
        var above = ""
        for component in home.split(separator: "/") {
            let siblings = Self.entries(of: above + "/").filter { $0 != component }
            if above.isEmpty || siblings.count <= Self.siblingsMax {
                paths += siblings.map { above + "/" + $0 }
            }
            above += "/" + component
        }
        // Of these, the supervisor allows the few that are harmless.
        paths.removeAll { $0 == "/dev" }
        Self.known.withLock { $0[home] = paths }
        return paths
    }

    /// Without links: what they lead to is judged where it is.
    private static func entries(of path: String) -> [String] {
        let number = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { return [] }
        let directory = Descriptor(owning: number)
        return TemporaryDirectory.names(in: directory.borrowed).compactMap { name in
            var facts = stat()
            guard fstatat(directory.borrowed, name, &facts, AT_SYMLINK_NOFOLLOW) == 0,
                facts.st_mode & S_IFMT != S_IFLNK
            else { return nil }
            return String(systemName: name)
        }
    }
}
