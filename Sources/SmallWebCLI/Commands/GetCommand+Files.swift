// SPDX-License-Identifier: MIT
internal import SmallWeb

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
