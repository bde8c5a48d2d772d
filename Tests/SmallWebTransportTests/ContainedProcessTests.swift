// SPDX-License-Identifier: MIT
import Foundation
import Glibc
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

@Suite(.timeLimit(.minutes(30)))
struct ContainedProcessTests {
    /// Each hostile program ends as it should, and leaves neither process nor file.
    @Test(arguments: HostileProgram.all, Way.allCases)
    func leavesNothingBehind(_ program: HostileProgram, _ way: Way) throws {
        guard program.words[0] != "perl" || Programs.has("perl") else { return }
        let here = try Self.containments[way]?.get().means ?? []
        // It would write where the test has no right to.
        let keepsFiles = !here.isDisjoint(with: [.landlock, .view])
        guard keepsFiles || !program.needs.contains(.landlock) else { return }
        let trial = try Trial.run(program.words, way, limits: program.limits)
        trial.expectNothingLeft()
        guard here.isSuperset(of: program.needs.subtracting(.landlock)) else { return }
        #expect(trial.reason == program.reason, "\(trial.output)")
        #expect(
            program.output.isEmpty || trial.output.contains(program.output), "\(trial.output)")
    }

    private static let containments: [Way: Result<Containment, FetchError>] =
        Dictionary(
            uniqueKeysWithValues: Way.allCases.map { way in
                let trial = Result { () throws(FetchError) in
                    try ContainedProcess.trial(Confinement(without: way.without))
                }
                return (way, trial)
            })

    @Test(arguments: Way.allCases)
    func hasExactlyItsEnvironment(_ way: Way) throws {
        let trial = try Trial.run(["env"], way, environment: ["SMALLWEB_V": "1", "TMPDIR": "/"])
        let names = Set(trial.output.split(separator: "\n").map { $0.prefix { $0 != "=" } })
        let known: Set<Substring> = [
            "LANG", "TZ", "PATH", "TMPDIR", "SMALLWEB_V", "SMALLWEB_MARK", "SMALLWEB_HOME",
            "SMALLWEB_PID",
        ]
        #expect(names.filter { !known.contains($0) && !$0.hasPrefix("LC_") } == [])
        #expect(names.isSuperset(of: ["PATH", "TMPDIR", "SMALLWEB_V"]))
        #expect(!trial.output.contains("TMPDIR=/\n"))
        trial.expectNothingLeft()
    }

    @Test(arguments: Way.allCases)
    func startsInItsFolder(_ way: Way) throws {
        let place = try Trial.Place()
        try place.write("hello", "#!/bin/sh\npwd; echo \"$0 $1\"; cat data\n")
        try place.write("data", "data\n", mode: 0o644)
        let trial = try Trial.run(["./hello", "a b"], way, place: place)
        #expect(trial.output == "\(place.folder)\n\(place.folder)/hello a b\ndata\n")
        #expect(trial.reason == .exited(0))
        trial.expectNothingLeft()
    }

    /// A plugin in one file has not the directory that it is in.
    @Test(arguments: Way.allCases)
    func aSingleFileHasNothingBesideIt(_ way: Way) throws {
        let place = try Trial.Place()
        try place.write("data", "data\n", mode: 0o644)
        let file = place.folder + "/alone"
        try place.write(
            "alone", "#!/bin/sh\npwd; cat $0 | head -1; cat \(place.folder)/data; ls ./data\n")
        let trial = try Trial.run([file], way, place: place, alone: file)
        let means = try #require(Self.containments[way]).get().means
        let isHidden = !means.isDisjoint(with: [.landlock, .view])
        #expect(trial.output.hasPrefix("/\n#!/bin/sh\n"), "\(trial.output)")
        #expect(trial.output.contains("\ndata\n") != isHidden, "\(trial.output)")
        trial.expectNothingLeft()
    }

    /// With Landlock alone the numbers of children cannot be allowed beforehand.
    @Test(arguments: Way.allCases)
    func readsItsOwnProcessAndWithAProcOfItsOwnThoseOfItsChildren(_ way: Way) throws {
        let means = try #require(Self.containments[way]).get().means
        let isRefused = means.contains(.landlock) && means.isDisjoint(with: [.proc, .view])
        let script = """
            read -r name </proc/self/status && echo "own $name"
            grep -s Name: /proc/self/status || echo refused
            """
        let trial = try Trial.run(["sh", "-c", script], way)
        let child = isRefused ? "refused" : "Name:\tgrep"
        #expect(trial.output == "own Name:\tsh\n\(child)\n")
    }

    /// A thread may hold a lock of the C library at the fork, and the child must not wait for it.
    @Test func startsWhileOtherThreadsStartProcesses() throws {
        let place = try Trial.Place()
        let isOver = Monitor(false)
        for _ in 0..<2 {
            Thread.detachNewThread {
                while !isOver.update({ $0 }) {
                    let process = Process()
                    process.executableURL = URL(fileURLWithPath: "/bin/true")
                    try? process.run()
                    process.waitUntilExit()
                }
            }
        }
        defer { isOver.update { $0 = true } }
        for _ in 0..<50 {
            let trial = try Trial.run(["sh", "-c", "echo started"], place: place)
            #expect(trial.output == "started\n")
        }
    }

    @Test func saysWhichProgramCannotBeRun() throws {
        let place = try Trial.Place()
        try place.write("data", "data\n", mode: 0o644)
        try place.write("script", "#!/nowhere/interpreter\n")
        try place.write("text", "echo hello\n")
        try #require(mkdir(place.folder + "/directory", 0o755) == 0)
        let messages = [
            "./none": "cannot run ./none: no such file or directory",
            "./data": "cannot run ./data: permission denied",
            "./directory": "cannot run ./directory: permission denied",
            "./script": "cannot run ./script: the interpreter in its first line is missing",
            "./text": "cannot run ./text: exec format error",
            "no-such-program":
                "the program no-such-program is in none of the directories of PATH that a plugin"
                + " may use",
        ]
        for (name, message) in messages {
            let error = #expect(throws: FetchError.self) { try Trial.run([name], place: place) }
            #expect(error?.message == message)
            #expect(error?.outcome == .plugin && error?.phase == .plugin)
        }
        try FileManager.default.removeItem(atPath: place.folder)
        let error = #expect(throws: FetchError.self) { try Trial.run(["true"], place: place) }
        #expect(
            error?.message == "cannot start true in its folder: no such file or directory")
    }

    @Test func endsOnceOnly() throws {
        let process = try ContainedProcess(
            folder: "/", words: ["sleep", "1000"], environment: [:], limits: .init(),
            descriptors: [-1, -1, -1, -1, -1, -1])
        #expect(try process.reap() == nil)
        process.end()
        process.end()
        #expect(try process.reap() == .signalled(SIGKILL))
        #expect(access(process.temporaryPath, F_OK) != 0)
    }

    private static let hasNamespaces =
        (try? Containment.here.get())?.means.isSuperset(of: [.network, .pids, .users]) == true

    /// From the second on, programs share the network namespace, which takes long to make.
    @Test(.enabled(if: hasNamespaces, "no user namespaces on this machine"))
    func hasNamespacesOfItsOwnButForTheNetwork() throws {
        let kinds = ["net", "user", "pid", "mnt", "ipc"]
        let place = try Trial.Place()
        func namespaces() throws -> [String: String] {
            let words = ["readlink"] + kinds.map { "/proc/self/ns/\($0)" }
            let trial = try Trial.run(words, place: place)
            let names = trial.output.split(separator: "\n").map(String.init)
            try #require(names.count == kinds.count, "\(trial.output)")
            return Dictionary(uniqueKeysWithValues: zip(kinds, names))
        }
        _ = try namespaces()
        let (one, other) = try (namespaces(), namespaces())
        // Numbers of the other namespaces may be used again.
        #expect(one["net"] == other["net"])
        for kind in kinds {
            let ours = try FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/ns/\(kind)")
            #expect(one[kind] != ours, "\(kind)")
        }
    }

    /// A starter was made before the file was replaced, and each has a TMPDIR of its own.
    @Test func seesWhatIsThereNowAndNothingOfOthers() throws {
        let place = try Trial.Place()
        let file = place.root + "/read"
        for text in ["one", "two", "three", "four"] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
            let script = "ls -A $TMPDIR; echo > $TMPDIR/left; cat $SMALLWEB_FILE"
            let trial = try Trial.run(
                ["sh", "-c", script], place: place,
                environment: ["SMALLWEB_FILE": file], reads: [file])
            #expect(trial.output == text)
        }
    }

    /// smallweb has no time to do anything about it.
    @Test(arguments: Way.allCases)
    func diesWithItsParent(_ way: Way) async throws {
        let here = try Containment.here.get().means
        let isByStarter =
            way == .byStarter && here.isSuperset(of: [.network, .proc, .users, .view])
        let place = try Trial.Place()
        let mark = UUID().uuidString
        let parent = Process()
        let output = Pipe()
        parent.executableURL = Self.loopback
        parent.arguments =
            [
                "--contain", place.folder, "\(way.without.rawValue)",
                way == .byStarter ? "2" : "0", mark, "sh", "-c",
                """
                trap '' HUP TERM INT; (sh -c 'trap "" HUP TERM; sleep 1000' &)
                sleep 1000 & echo ready; while :; do sleep 1; done
                """,
            ]
        parent.environment = ["TMPDIR": place.root, "PATH": "/usr/bin:/bin"]
        parent.standardOutput = output
        try parent.run()
        let line = output.fileHandleForReading.availableData
        #expect(String(decoding: line, as: UTF8.self) == "ready\n")
        let deadline = ProcessClock.monotonic + 20_000_000_000
        // A process that is just at its execve shows no environment, and a new one always is.
        var seen = 0
        while seen < 3 && ProcessClock.monotonic < deadline {
            usleep(2000)
            seen = Trial.marked(mark).count
        }
        #expect(seen >= 3)
        kill(parent.processIdentifier, SIGKILL)
        parent.waitUntilExit()
        // The kernel, or the supervisor, is at work on its own.
        while !Trial.marked(mark).isEmpty && ProcessClock.monotonic < deadline { usleep(2000) }
        #expect(Trial.marked(mark) == [])
        // A later run removes the directory, which a killed process could not.
        let top = place.root + "/smallweb-plugins-\(geteuid())"
        func left() -> [String] {
            let names = try? FileManager.default.contentsOfDirectory(atPath: top)
            return (names ?? []).filter { $0.hasPrefix("smallweb-plugin-") }
        }
        // A starter's programs need none.
        #expect(left().count == (isByStarter ? 0 : 1))
        while !left().isEmpty && ProcessClock.monotonic < deadline {
            TemporaryDirectory.sweep(top)
        }
        #expect(left() == [])
    }

    private static let loopback: URL = {
        let bundle =
            CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
        var directory = URL(fileURLWithPath: bundle)
        func file() -> URL { directory.appendingPathComponent("smallweb-loopback") }
        repeat {
            directory.deleteLastPathComponent()
        } while directory.path != "/" && !FileManager.default.fileExists(atPath: file().path)
        return file()
    }()

    @Test func sweepsOnlyWhatIsLeftBehind() throws {
        let place = try Trial.Place()
        let held = try TemporaryDirectory(in: place.root)
        try #require(mkdir(place.root + "/smallweb-plugin-old", 0o700) == 0)
        try #require(mkdir(place.root + "/smallweb-plugin-old/a", 0) == 0)
        try #require(symlink(place.home, place.root + "/smallweb-plugin-link") == 0)
        TemporaryDirectory.sweep(place.root)
        #expect(access(held.path, F_OK) == 0)
        #expect(access(place.root + "/smallweb-plugin-old", F_OK) != 0)
        #expect(access(place.home + "/secret", F_OK) == 0)
        held.remove()
        #expect(access(held.path, F_OK) != 0)
    }

    @Test func saysWhatHolds() throws {
        let here = try Containment.here.get()
        #expect(!here.means.isDisjoint(with: [.network, .seccomp]))
        #expect(here.facts.count == 6)
        let trial = try Trial.run(["true"])
        #expect(trial.containment == here)
    }

    /// Compared with a bare start, in the same run. Times depend on the load of the machine, so
    /// they are not tested, and in this process, which is large, each start copies more than in
    /// smallweb.
    @Test(
        .enabled(
            if: ProcessInfo.processInfo.environment["SMALLWEB_MEASURE"] != nil,
            "it measures, when SMALLWEB_MEASURE is set"))
    func costsLittle() throws {
        func median(_ body: () throws -> Void) rethrows -> Double {
            let times = try (0..<200).map { _ in
                let begin = ProcessClock.monotonic
                try body()
                return Double(ProcessClock.monotonic - begin) / 1e6
            }
            return times.sorted()[100]
        }
        let bare = median {
            var process: pid_t = 0
            var words: [UnsafeMutablePointer<CChar>?] = [strdup("/bin/true"), nil]
            posix_spawn(&process, "/bin/true", nil, nil, &words, environ)
            waitpid(process, nil, 0)
            free(words[0])
        }
        for way in Way.allCases {
            let contained = try median {
                let process = try ContainedProcess(
                    folder: "/", words: ["/bin/true"], environment: [:], limits: .init(),
                    descriptors: [-1, -1, -1, -1, -1, -1],
                    confinement: Confinement(without: way.without))
                var event = pollfd(fd: process.endDescriptor, events: Int16(POLLIN), revents: 0)
                poll(&event, 1, -1)
                _ = try process.reap()
                process.end()
            }
            print("\(way): bare \(bare) ms, contained \(contained) ms")
        }
    }

    /// Its folder and the executables, as few paths, and never a folder that contains the home
    /// directory.
    @Test func namesWhatIsReadable() throws {
        let place = try Trial.Place()
        let confinement = Confinement(home: place.home)
        func places(_ executables: String...) -> [String] {
            confinement.places(folder: place.folder, executables: executables)
        }
        #expect(places("/usr/bin/python3", "/bin/sh", place.folder + "/x/y") == [place.folder])
        #expect(places(place.home + "/tool") == [place.folder, place.home + "/tool"])
        #expect(places("/opt/x/run") == [place.folder, "/opt/x"])
        #expect(
            places("/opt/x/bin/run")
                == [place.folder] + ["bin", "lib", "lib64", "pyvenv.cfg"].map { "/opt/x/" + $0 })
        #expect(confinement.places(folder: "/", executables: []) == [])
    }
}
