// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// The style guide, as far as a program can read it.
@Suite struct TidyTests {
    struct Source: CustomTestStringConvertible, Sendable {
        let path: String
        let lines: [String]
        var testDescription: String { path }
        var isProduct: Bool { path.hasPrefix("Sources/") || path.hasPrefix("Plugins/") }
    }

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    static let sources: [Source] = ["Sources", "Plugins", "Tests", "docs"].flatMap { folder in
        let names = FileManager.default.enumerator(atPath: "\(root)/\(folder)")
        return (names?.allObjects as? [String] ?? []).compactMap { name -> Source? in
            // A manifest's first line is the version of the tools.
            guard [".swift", ".h", ".c"].contains(where: { name.hasSuffix($0) }),
                !name.hasSuffix("Package.swift"),
                let text = try? String(contentsOfFile: "\(root)/\(folder)/\(name)", encoding: .utf8)
            else { return nil }
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            return Source(path: "\(folder)/\(name)", lines: lines.map(String.init))
        }
    }.sorted { $0.path < $1.path }

    @Test func thereAreSources() { #expect(Self.sources.count > 40) }

    @Test(arguments: sources)
    func isNarrowShortAndLicensed(_ source: Source) {
        #expect(source.lines.first == "// SPDX-License-Identifier: MIT")
        #expect(source.lines.count <= 450, "\(source.lines.count) lines")
        for (number, line) in source.lines.enumerated() {
            #expect(line.count <= 100, "line \(number + 1) has \(line.count) columns")
            #expect(line.last != " ", "line \(number + 1) ends in a space")
            #expect(!line.contains("\t"), "line \(number + 1) has a tab")
        }
    }

    /// A program may have ended, and SIGPIPE ends all tests: `Pipe.send(_:)` writes.
    @Test func noTestWritesToAProgramThatMayHaveEnded() {
        for source in Self.sources where source.path.hasPrefix("Tests/CommandLineTests/") {
            #expect(!source.lines.contains { $0.contains("fileHandleForWriting.write(") })
        }
    }

    @Test(arguments: sources.filter { $0.isProduct && $0.path.hasSuffix(".swift") })
    func keepsToTheArchitecture(_ source: Source) {
        let text = source.lines.joined(separator: "\n")
        let imports = source.lines.compactMap { line -> String? in
            let words = line.split(separator: " ")
            guard let index = words.firstIndex(of: "import"), index <= 2, words.count > index + 1
            else { return nil }
            return String(words[index + 1])
        }
        let isInstalled = !source.path.hasPrefix("Sources/smallweb-manual/")
        #expect(
            !(isInstalled && imports.contains("Foundation")), "full Foundation costs start-up time")
        if source.path.hasPrefix("Plugins/") {
            let known = ["SmallWebCore", "SmallWebFormats"]
            #expect(imports.allSatisfy(known.contains), "a plugin knows contracts alone")
        }
        if ["Core", "Text"].contains(where: { source.path.hasPrefix("Sources/SmallWeb\($0)/") })
            && !source.path.hasPrefix("Sources/SmallWebCore/HTTP/")
            && !source.path.hasSuffix("/Dialer.swift")
        {
            let code = source.lines.filter { !$0.drop { $0 == " " }.hasPrefix("//") }
            for word in ["HTTP", "Curl", "curl"] {
                #expect(!code.contains { $0.contains(word) }, "the core's HTTP/ knows of \(word)")
            }
        }
        for call in ["try!", "fatalError(", "TODO", "FIXME"] {
            #expect(!text.contains(call), "\(call)")
        }
        if !source.path.hasPrefix("Sources/SmallWebTransport/") {
            for call in [" socket(", " connect(", " recv(", "getaddrinfo(", "epoll_"] {
                #expect(!text.contains(call), "\(call) belongs to SmallWebTransport")
            }
        }
        if !source.path.hasPrefix("Sources/SmallWebCLI/") {
            #expect(!text.contains("print("), "only the command line prints")
        } else if !source.path.hasPrefix("Sources/SmallWebCLI/Main/") {
            let status = /(return|status =|\?|:) .*[a-z]\.exitStatus/
            let makers = source.lines.filter { $0.contains(status) && !$0.contains(" == ") }
            #expect(makers == [], "Verdict makes exit statuses")
        }
    }

    /// Protocols are at home in their plugins: nothing else names one, but for the texts that
    /// people read and the media types of pages. The HTTP engine's own words are the exception,
    /// since libcurl is the host side's.
    @Test(arguments: sources.filter { $0.isProduct && $0.path.hasSuffix(".swift") })
    func namesNoProtocol(_ source: Source) throws {
        // The list of plugins, the engine that has to know which schemes libcurl speaks, proxies,
        // because some speak HTTP, and formats whose names are URLs.
        let exempt = [
            "Plugins/", "Sources/SmallWebPlugins/", "Sources/SmallWebTransport/Curl",
            "Sources/SmallWebTransport/Proxies/", "Sources/smallweb-manual/",
            "Sources/SmallWebCLI/Commands/Help/Help.swift",
            "Sources/SmallWebFormats/Feeds/FeedWriter.swift",
            // The form of keys that has these two schemes' ports in it.
            "Sources/SmallWebArchive/Index/SurtKey.swift",
            // A format that every scheme can serve, as gemtext is.
            "Sources/SmallWebFormats/Gopher",
        ]
        guard !exempt.contains(where: source.path.hasPrefix) else { return }
        let names = "gemini|titan|gophers?|finger|spartan|nex|git|git\\+https?|https?"
        let literal = try Regex("\"(\(names))(\"|://|\\+|:\")")
        let member = try Regex("\\.(gemini|titan|gopher|finger|spartan|git|nex)\\b")
        let type = try Regex("\\b(Gemini|Titan|Gopher|Finger|Spartan|Git|Nex)[A-Z]\\w+")
        let texts = ["example:", "hint:", "summary:", "manual:", "\"smallweb "]
        for (number, line) in source.lines.enumerated() {
            let code = line.drop { $0 == " " }
            if texts.contains(where: { code.contains($0) && !code.hasPrefix("\"") })
                || code.hasPrefix("//") || code.hasPrefix("+ \"")
                || code.hasPrefix("\"smallweb ")
            {
                continue
            }
            for pattern in [literal, member, type] where line.contains(pattern) {
                Issue.record("line \(number + 1) names a protocol: \(code)")
            }
        }
    }

    /// Advice travels as a `Remedy`: below the command line nothing names an option or a command,
    /// but the texts of options and of outcomes, which belong to the manual.
    @Test(
        arguments: sources.filter {
            $0.isProduct && $0.path.hasSuffix(".swift") && !$0.path.hasSuffix("/Outcome.swift")
                && !$0.path.hasPrefix("Sources/SmallWebCLI/")
                && !$0.path.hasPrefix("Sources/smallweb-manual/")
        })
    func namesNoOptionBelowTheCommandLine(_ source: Source) throws {
        let commands =
            "bookmarks|config|explain|get|head|help|history|identity|links|open|put|refs|schemes"
            + "|trust"
        let pattern = try Regex(
            "(^|[ ('])(--[a-z]|-[A-Za-z0-9]( |,|$)|smallweb (\(commands))\\b)")
        var isManual = false
        for (number, line) in source.lines.enumerated() {
            let code = line.drop { $0 == " " }
            isManual =
                ["summary:", "manual:", "example:"].contains { code.contains($0) }
                || isManual && code.hasPrefix("+ \"")
            let literals = code.split(separator: "\"", omittingEmptySubsequences: false)
                .enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
                // Literals of the shell, of patches and of jq.
                .filter { $0 != "-c" && $0 != "diff --git " && !$0.contains("jq -r") }
            // Examples of the commands that a plugin declares.
            let isExample = code.hasPrefix("\"smallweb ") && code.contains("\":")
            if isManual || isExample || code.hasPrefix("//") { continue }
            guard literals.contains(where: { $0.contains(pattern) }) else { continue }
            Issue.record("line \(number + 1) names an option or command: \(code)")
        }
    }

    /// The words that readers have stumbled over, in all that is shipped: messages, comments and
    /// manual, documents and schemas.
    private static let refusedWords =
        #"(?<!there\s)\b(is|are)\s+(no\s(?!longer|less|more)|none\b)|\banew\b|\b(no|some)body\b"#
        + #"|\bfor\s+want\s+of\b|\bof\s+use\b|\bwhoever\b"#

    /// Others that comments may have.
    private static let refusedInTexts = refusedWords + #"|\bbeside\b|\bwhat\s+is\s+not\b"#

    /// Every pattern finds its words, and lets pass phrases that readers understand.
    @Test func refusesTheWordsThatReadersStumbledOver() throws {
        let pattern = try NSRegularExpression(
            pattern: Self.refusedInTexts, options: .caseInsensitive)
        func isRefused(_ text: String) -> Bool {
            pattern.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
        }
        for text in [
            "'x' is no name", "these are no\nnames", "the port is none", "fetch it anew",
            "for want of time", "is of use", "Nobody asks", "somebody asks",
            "whoever asks", "the file beside it", "what is not UTF-8",
        ] {
            #expect(isRefused(text), "\(text)")
        }
        for text in [
            "there is no name", "There are none", "it is no longer used", "what is known",
            "are no more than two", "use it",
        ] {
            #expect(!isRefused(text), "\(text)")
        }
    }

    @Test(arguments: sources.filter(\.isProduct))
    func saysNothingInRefusedWords(_ source: Source) throws {
        let pattern = try NSRegularExpression(
            pattern: Self.refusedWords, options: .caseInsensitive)
        for (number, line) in source.lines.enumerated() {
            let range = NSRange(line.startIndex..., in: line)
            #expect(
                pattern.firstMatch(in: line, range: range) == nil, "line \(number + 1): \(line)")
        }
    }

    @Test(arguments: sources.filter { $0.isProduct && $0.path.hasSuffix(".swift") })
    func textsSayNothingInRefusedWords(_ source: Source) throws {
        let pattern = try NSRegularExpression(
            pattern: Self.refusedInTexts, options: .caseInsensitive)
        for (number, line) in source.lines.enumerated() where !line.contains("//") {
            let literals = line.split(separator: "\"", omittingEmptySubsequences: false)
                .enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
            for text in literals {
                let range = NSRange(text.startIndex..., in: text)
                #expect(
                    pattern.firstMatch(in: text, range: range) == nil,
                    "line \(number + 1): \(text)")
            }
        }
    }

    @Test func documentsSayNothingInRefusedWords() throws {
        let pattern = try NSRegularExpression(
            pattern: Self.refusedInTexts, options: .caseInsensitive)
        var names = ["README.md", "CHANGELOG.md"]
        for folder in ["docs", "man", "Sources"] {
            let all = FileManager.default.enumerator(atPath: "\(Self.root)/\(folder)")?.allObjects
            names += (all as? [String] ?? []).map { "\(folder)/\($0)" }
        }
        names = names.filter { name in
            [".md", ".json", ".1", ".5", ".7", ".txt", ".mdoc"].contains(where: name.hasSuffix)
        }
        #expect(names.count > 50)
        for name in names {
            let text = try String(contentsOfFile: "\(Self.root)/\(name)", encoding: .utf8)
            for match in pattern.matches(in: text, range: NSRange(text.startIndex..., in: text)) {
                let place = Range(match.range, in: text)
                Issue.record("\(name): \(place.map { text[$0] } ?? "")")
            }
        }
    }

    /// Hints that name options stand together, where a renamed option is looked for.
    @Test func hintsThatNameOptionsAreInTheirRoom() throws {
        let hint = #"hint(?:: String\?)?(?::| =)\s+(?:[^",\n]*\s+)?"(?:[^"\\]|\\.)*""#
        let pattern = try NSRegularExpression(
            pattern: hint + #"(?:\s*\+\s*"(?:[^"\\]|\\.)*")*"#)
        var found = 0
        for source in Self.sources where source.isProduct && source.path.hasSuffix(".swift") {
            // There a hint is data of its option.
            guard !source.path.contains("/Options/Table/") else { continue }
            let text = source.lines.joined(separator: "\n")
            for match in pattern.matches(in: text, range: NSRange(text.startIndex..., in: text)) {
                guard let range = Range(match.range, in: text) else { continue }
                found += 1
                #expect(!text[range].contains(/--[a-z]/), "\(source.path): \(text[range])")
            }
        }
        #expect(found > 50)
    }

    /// A hall of files is not a room.
    @Test(arguments: ["SmallWeb", "SmallWebCore", "SmallWebTransport"])
    func fewFilesLieOutsideOfFolders(_ target: String) throws {
        let names = try FileManager.default.contentsOfDirectory(
            atPath: "\(Self.root)/Sources/\(target)")
        #expect(names.count { $0.hasSuffix(".swift") } <= 8)
    }

    /// Types and parameter lists too large to be understood at once must be split.
    @Test(arguments: sources.filter { $0.isProduct && $0.path.hasSuffix(".swift") })
    func keepsTypesAndParametersFew(_ source: Source) throws {
        let modifiers = #"^( *)(?:(?:[a-z]+(?:\(\w+\))?|@\w+) )*?"#
        let type = try Regex(
            modifiers + #"(?:struct|class|actor|enum|protocol|extension) ([A-Z][\w.]*)"#)
        let variable = try Regex(modifiers + #"(?:let|var) ([\w`, ]+)"#)
        let function = try Regex(modifiers + #"(?:init\??|func [^(<]+)(?:<.*>)?\("#)
        var types: [(name: String, indent: Int, variables: Int)] = []
        for (number, line) in source.lines.enumerated() {
            let indent = line.prefix { $0 == " " }.count
            if let present = types.last, indent == present.indent, line.hasSuffix("}") {
                types.removeLast()
                #expect(
                    present.variables <= 30,
                    "\(present.name) has \(present.variables) stored variables")
            }
            let present = types.last ?? ("", -4, 0)
            guard indent == present.indent + 4 else { continue }
            if let match = line.prefixMatch(of: type), !line.hasSuffix("}") {
                types.append((String(match[2].substring ?? ""), indent, 0))
            } else if line.prefixMatch(of: function) != nil {
                let count = parameters(source.lines[number...])
                #expect(count <= 7, "line \(number + 1): \(count) parameters")
            } else if let match = line.prefixMatch(of: variable), !line.contains("static ") {
                // A variable with braces and no value is computed.
                let brace = line.firstIndex(of: "{") ?? line.endIndex
                guard brace == line.endIndex || line[..<brace].contains("=") else { continue }
                let names = (match[2].substring ?? "").split(separator: ",").count
                if !types.isEmpty { types[types.count - 1].variables += names }
            }
        }
        #expect(types.isEmpty, "the indent of \(types.last?.name ?? "") is not that of its end")
    }

    /// Number of parameters of the declaration that begins on the first of `lines`: each has a
    /// colon.
    private func parameters(_ lines: ArraySlice<String>) -> Int {
        var (depth, count) = (0, 0)
        for character in lines.prefix(20).joined(separator: " ") {
            switch character {
            case "(", "[": depth += 1
            case ")", "]": depth -= 1
            case ":" where depth == 1: count += 1
            default: continue
            }
            if depth == 0 { break }
        }
        return count
    }

    /// A promise to the compiler, or some in a row, has its reason in the comment right above.
    @Test(arguments: sources.filter { $0.isProduct })
    func uncheckedPromisesHaveAReason(_ source: Source) {
        let isPromise = { (line: String) in
            line.contains("@unchecked Sendable") || line.contains("nonisolated(unsafe)")
        }
        for (number, line) in source.lines.enumerated() where isPromise(line) {
            let before = source.lines[..<number].reversed().prefix {
                isPromise($0) || $0.drop { $0 == " " }.hasPrefix("//")
            }
            #expect(before.contains { $0.contains("// @unchecked: ") }, "line \(number + 1)")
        }
    }

    /// Swift lets C functions be called without a look at their result, and gives no warning. The
    /// result of a call that can fail is used; or `_ =` says that it is not, and a comment why.
    @Test(
        arguments: sources.filter {
            $0.isProduct && $0.path.hasSuffix(".swift")
        })
    func usesTheResultsOfSystemCalls(_ source: Source) throws {
        let names =
            "accept4?|access|chdir|dup[23]?|epoll_ctl|eventfd|f?chmod|f?chown|fcntl|fdatasync"
            + "|flock|[fl]?stat|fsync|f?truncate|[gs]etrlimit|[gs]etsockopt|link|lseek|mkdir"
            + "|mkfifo|pread|pwrite|pipe2?|posix_spawn\\w*|rename|setenv|shutdown|sigaction"
            + "|socketpair|symlink|tc[gs]etattr|utimensat"
            + "|swposix_(begin_alarm|block_signals|signal_to_event)"
        // Names that are ours as well count only if the call is certainly the system's.
        let call = "((Glibc\\.)?(\(names))\\(|Glibc\\.(read|write|send|recv)\\(|poll\\(&)"
        let statement = try Regex("^ *(_ = )?\(call)")
        let inBlock = try Regex("(else|defer|deinit|if [^{]*|for [^{]*) \\{ (_ = )?\(call)")
        // An expression that began on the line before takes the result.
        let opening = try Regex(
            "((all|attempt|first|with\\w+)\\(?.* \\{( .* in)?|-> Int32 \\{|[(=])$")
        for (number, line) in source.lines.enumerated() where number > 0 {
            let before = source.lines[number - 1]
            let isStatement =
                line.contains(statement) && !before.contains(opening)
                && !line.contains(" == ") && !line.contains(" != ")
            guard isStatement || line.contains(inBlock) && !line.contains("where: {") else {
                continue
            }
            let isExplained = line.contains("_ = ") && before.contains("// ")
            #expect(isExplained, "line \(number + 1): the result of a call is not looked at")
        }
    }

    /// The modules of products, and those that they export.
    private static let documented = [
        "Sources/SmallWeb/", "Sources/SmallWebCore/", "Sources/SmallWebFormats/",
        "Sources/SmallWebPlugins/",
        "Sources/SmallWebRecords/", "Sources/SmallWebTesting/", "Sources/SmallWebText/",
        "Sources/SmallWebTransport/",
    ]

    @Test(
        arguments: sources.filter { source in
            documented.contains(where: source.path.hasPrefix)
        })
    func publicDeclarationsAreDocumented(_ source: Source) {
        // Requirements of the standard library's protocols need no words of ours.
        let promised = [
            "import ", "static func ==", "static func <", "var description:", "typealias Element",
            "typealias Failure",
        ].map { "public " + $0 }
        var isDocumented = false
        for (number, line) in source.lines.enumerated() {
            let text = line.drop { $0 == " " }
            if text.hasPrefix("///") {
                isDocumented = true
            } else if !text.hasPrefix("//") && !text.hasPrefix("@") || text.contains("public ") {
                let declaration = text.range(of: "public ").map { text[$0.lowerBound...] } ?? ""
                if text.hasPrefix("public ") || text.hasPrefix("@"), !declaration.isEmpty,
                    !promised.contains(where: declaration.hasPrefix)
                {
                    #expect(isDocumented, "line \(number + 1): \(text)")
                }
                isDocumented = false
            }
        }
    }

    /// The examples in README.md are built and run.
    @Test func theExamplesOfTheReadmeAreThoseOfThePackages() throws {
        let readme = try String(contentsOfFile: Self.root + "/README.md", encoding: .utf8)
        let mains = ["swift-fetch/Sources/fetch", "swift-plugin/Sources/daytime"]
        let examples = try mains.map { path in
            try String(
                contentsOfFile: "\(Self.root)/docs/examples/\(path)/main.swift", encoding: .utf8)
        }.joined(separator: "\n")
        let known = Set(examples.split(separator: "\n").map { $0.drop { $0 == " " } })
        let blocks = readme.components(separatedBy: "```swift\n").dropFirst()
        #expect(blocks.count == 2)
        for block in blocks {
            let code = block.components(separatedBy: "```")[0]
            for line in code.split(separator: "\n") {
                #expect(known.contains(line.drop { $0 == " " }), "\(line)")
            }
        }
    }

    /// The program, its manual, README.md and the recipes of packages.
    @Test func everyFileHasTheSameVersion() throws {
        let check = Process()
        check.executableURL = URL(fileURLWithPath: Self.root + "/docs/packaging/version.py")
        check.arguments = ["check"]
        let problems = Pipe()
        check.standardError = problems
        try check.run()
        let text = try problems.fileHandleForReading.readToEnd() ?? Data()
        check.waitUntilExit()
        #expect(check.terminationStatus == 0, "\(String(decoding: text, as: UTF8.self))")
    }

    @Test func everyPluginHasItsFolderTargetAndRegistryLine() throws {
        let manifest = try String(contentsOfFile: Self.root + "/Package.swift", encoding: .utf8)
        let registry = try ["BuiltIn", "PluginFolders"].map { name in
            try String(
                contentsOfFile: "\(Self.root)/Sources/SmallWebPlugins/\(name).swift",
                encoding: .utf8)
        }.joined()
        for name in try FileManager.default.contentsOfDirectory(atPath: Self.root + "/Plugins") {
            // A plugin that is a program has no target, and is found when smallweb runs.
            let facts = "\(Self.root)/Plugins/\(name)/plugin.json"
            if FileManager.default.fileExists(atPath: facts) { continue }
            #expect(manifest.contains("\"\(name)\""))
            #expect(registry.contains("\(name)Plugin("))
        }
    }
}
