// SPDX-License-Identifier: MIT
package import ExternalPlugin
internal import Glibc
public import SmallWebCore
internal import SmallWebTransport

/// A folder with a plugin that is a program, or a single file that is one: its manifest, read as
/// data. Nothing is executed.
package struct PluginFolder: Sendable {
    /// Absolute, with links resolved if it exists.
    package let path: String
    /// The manifest, or the reason that it cannot be used.
    package let manifest: Result<Manifest, FetchError>

    package var name: String {
        (try? manifest.get())?.name ?? path.split(separator: "/").last.map(String.init) ?? path
    }

    /// - Parameter path: Relative to the working directory, or absolute.
    package init(_ path: String) {
        let resolved = realpath(path, nil)
        defer { free(resolved) }
        self.path = resolved.map { String(systemName: $0) } ?? path
        let place = self.path
        manifest = Result { () throws(FetchError) in
            try Self.read(path.hasPrefix("/") ? path : resolvingLinks(".") + "/" + path, place)
        }
    }

    /// - Parameter isTrusted: True if the user has named this folder for the present command, which
    ///   is a consent to the reads in the manifest.
    /// - Throws: `plugin`, with a remedy: also for a program that others can write, and for one
    ///   that would read more than the user has consented to.
    package func handler(isTrusted: Bool = false) throws(FetchError) -> ExternalPlugin {
        let manifest = try manifest.get()
        let missing = isTrusted ? [] : try unconsented(manifest.reads)
        guard missing.isEmpty else {
            throw Self.naming(
                path,
                .plugin(
                    "asks to read \(missing.joined(separator: ", ")), to which you have not"
                        + " consented: 'smallweb plugin add' asks for that"))
        }
        do throws(FetchError) {
            try Provenance.check(folder: path, words: manifest.program)
        } catch {
            throw Self.naming(path, error)
        }
        return ExternalPlugin(manifest, in: path)
    }

    /// The single file; `nil` for a folder.
    ///
    /// - Throws: `plugin` for a file that cannot be read, or is not a plugin.
    package func script() throws(FetchError) -> (parsed: PluginScript, bytes: [UInt8])? {
        guard fileKind(path) == S_IFREG else { return nil }
        let bytes = try Self.bytes(of: path, "")
        return (try PluginScript(parsing: bytes), bytes)
    }

    // MARK: Consent

    /// Next to the folder: the paths that the user lets its program read, one a line. Only the
    /// user's own plugins have such a file.
    package static func consent(of folder: String) -> String { folder + ".consent" }

    private func unconsented(_ reads: [String]) throws(FetchError) -> [String] {
        guard !reads.isEmpty else { return [] }
        let isOwn = PluginFolders.ofUser.map(resolvingLinks) == directory(of: path)
        let file = Self.consent(of: path)
        guard isOwn, access(file, F_OK) == 0 else { return reads }
        var judge = Provenance()
        _ = try judge.follow(file)
        do throws(SystemError) {
            let text = try FileBytes.read(file, limit: Manifest.bytesMax)
            let given = Set(String(systemBytes: text).split(separator: "\n").map(String.init))
            return reads.filter { !given.contains($0) }
        } catch {
            throw .plugin("\(file): \(error.sentence)")
        }
    }

    /// - Parameters:
    ///   - name: The path as given, but absolute: the links on the way count, too.
    ///   - path: Its target.
    private static func read(_ name: String, _ path: String) throws(FetchError) -> Manifest {
        do throws(FetchError) {
            var judge = Provenance()
            let isScript = fileKind(path) == S_IFREG
            let file = isScript ? path : path + "/plugin.json"
            guard try judge.follow(name) != nil, try judge.follow(file) != nil else {
                let reason = SystemError(number: ENOENT).sentence
                throw .plugin(access(path, F_OK) == 0 ? "plugin.json: \(reason)" : reason)
            }
            let text = try bytes(of: file, isScript ? "" : "plugin.json: ")
            var manifest: Manifest
            if isScript {
                manifest = try PluginScript(parsing: text).manifest
                manifest.program = [path]
            } else {
                manifest = try Manifest(parsing: text)
            }
            if let isTaken = PluginFolders.isTaken.withLock({ $0 }) {
                try manifest.refuseOptions(where: isTaken)
            }
            return manifest
        } catch {
            throw naming(path, error)
        }
    }

    private static func bytes(of file: String, _ place: String) throws(FetchError) -> [UInt8] {
        do throws(SystemError) {
            return try FileBytes.read(file, limit: Manifest.bytesMax)
        } catch {
            throw .plugin(place + (error.number == EFBIG ? "it is too large" : error.sentence))
        }
    }

    private static func naming(_ path: String, _ error: FetchError) -> FetchError {
        FetchError(
            error.outcome, .plugin, "the plugin \(path): \(error.message)",
            errnoName: error.errnoName, hint: error.hint)
    }
}

package enum PluginFolders {
    /// True for the name of an option that a command line has without plugins; `nil` if there is no
    /// command line. Set once, before a manifest is read.
    package static let isTaken = Locked<(@Sendable (String) -> Bool)?>(nil)

    /// Ordered by precedence: the first of a name wins. Never in the working directory.
    package static func all() -> [PluginFolder] {
        parents().flatMap { parent in
            ((try? directoryNames(parent)) ?? []).map { "\(parent)/\($0)" }
        }.filter { access("\($0)/plugin.json", F_OK) == 0 }.map(PluginFolder.init)
    }

    /// Plugins in the directory that the user adds plugins to.
    package static var ofUserAlone: [PluginFolder] {
        guard let parent = ofUser.map(resolvingLinks) else { return [] }
        return all().filter { directory(of: $0.path) == parent }
    }

    package static func named(_ name: String) -> PluginFolder? {
        all().first { $0.name == name }
    }

    /// Read once: a page may name any number of unknown schemes.
    private static let known = all()

    /// The plugin of a scheme; `nil` when there is none.
    ///
    /// - Throws: `plugin` when it cannot be used.
    package static func handler(of scheme: String) throws(FetchError) -> ExternalPlugin? {
        var names: Set<String> = []
        for folder in known where names.insert(folder.name).inserted {
            switch folder.manifest {
            case .success(let manifest):
                if manifest.schemes.contains(where: { $0.name == scheme }) {
                    return try folder.handler()
                }
            // The schemes that it would serve are unknown; only its name can be compared.
            case .failure(let error): if folder.name == scheme { throw error }
            }
        }
        return nil
    }

    /// The schemes of all usable plugins, except the built-in ones.
    package static func schemes() -> [Scheme] {
        var schemes: [Scheme] = []
        for scheme in all().flatMap({ (try? $0.manifest.get())?.schemes ?? [] })
        where !(Registry.builtIn.schemes + schemes).contains(where: { $0.name == scheme.name }) {
            schemes.append(scheme)
        }
        return schemes
    }

    /// The directory of the plugins added by the user; `nil` without a home.
    package static var ofUser: String? { dataHome.map { $0 + "/smallweb/plugins" } }

    private static func parents() -> [String] {
        let list = environmentVariable("SMALLWEB_PLUGIN_PATH") ?? ""
        return absolute(list) + (ofUser.map { [$0] } ?? [])
            + sharedData.map { $0 + "/smallweb/plugins" }
    }

    /// The directories of data that all users of the machine share.
    package static var sharedData: [String] {
        absolute(environmentVariable("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share")
    }

    private static var dataHome: String? {
        if let base = environmentVariable("XDG_DATA_HOME"), base.hasPrefix("/") { return base }
        return homeDirectory.map { $0 + "/.local/share" }
    }

    private static func absolute(_ list: String) -> [String] {
        list.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
    }
}

extension Registry {
    /// True if one of the handlers is a plugin of that name.
    package func hasPlugin(_ name: String) -> Bool {
        handlers.contains { $0.schemes.first?.plugin == name }
    }

    /// The built-in handlers, and program plugins, which are looked up when no other handler has a
    /// scheme.
    public static let withPrograms: Registry = {
        var registry = builtIn
        registry.setFallback { scheme throws(FetchError) in
            try PluginFolders.handler(of: scheme)
        }
        return registry
    }()
}
