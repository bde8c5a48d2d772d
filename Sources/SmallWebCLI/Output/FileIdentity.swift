// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

/// Which file is meant, whatever its path: the device and inode, or of one that does not exist yet
/// those of its directory, and its name.
struct FileIdentity: Hashable, Sendable {
    private let device: dev_t
    private let inode: ino_t
    private var name: String?

    init(_ status: stat) { (device, inode) = (status.st_dev, status.st_ino) }

    /// `nil` for what no output takes the place of: a device, a pipe, a missing directory.
    init?(path: String) {
        let target = resolvingLinks(path)
        var status = stat()
        if stat(target, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else { return nil }
            self.init(status)
        } else {
            guard stat(directory(of: target), &status) == 0 else { return nil }
            self.init(status)
            name = target.split(separator: "/").last.map(String.init)
        }
    }
}

extension GetCommand {
    /// - Throws: `usage` for two options that name the same file, which one would replace.
    func checkFiles() throws(FetchError) {
        let output = settings.output
        var files: [(option: String, path: String)] = []
        if let ledger = settings.run.ledger { files.append(("--ledger", ledger)) }
        if let path = output.headerFile, path != "-", path != "%" {
            files.append(("--dump-header", path))
        }
        let hasOthers = !files.isEmpty
        for (index, url) in operands.enumerated() {
            if index < output.files.count {
                let name = output.files[index]
                if name != "-" { files.append(("--output", output.place(of: name))) }
            } else if output.usesRemoteName, hasOthers, let uri = try? URI(parsing: url),
                let path = BodySink.path(.remoteName(directory: output.directory), uri, output)
            {
                files.append(("--remote-name", path))
            }
        }
        guard !files.isEmpty else { return }
        if let path = settings.connection.knownHostsFile ?? UserFiles.knownHosts {
            files.append(("--known-hosts", path))
        }
        var known: [FileIdentity: String] = [:]
        for (option, path) in files {
            guard let identity = FileIdentity(path: path) else { continue }
            let other = known[identity] ?? option
            guard other == option else {
                throw usageError(
                    "\(other) and \(option) name the same file, \(path)",
                    hint: "name another file for one of them")
            }
            known[identity] = option
        }
    }
}
