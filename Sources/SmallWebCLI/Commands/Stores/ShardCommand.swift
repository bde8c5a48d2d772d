// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let shard = Command(
        "shard N [FILE…]", "split a list for N workers, by host",
        manual: "Prints each line of the lists with the number of its part, from 0, and a tab "
            + "before it; of standard input without a FILE, or for -. Comments and blank lines are "
            + "left out, requests in JSON stay whole. All URLs of one host and port belong to one "
            + "part: the first eight bytes of the SHA-256 of host:port, as a number, modulo N. The "
            + "host is in lower case, an international one in its ASCII form, IPv6 in its shortest "
            + "form in brackets; the port is always there. Lines without a host belong to part 0. "
            + "'smallweb get --shard I/N' fetches what this prints with the number I.",
        examples: [
            "smallweb shard 4 urls.txt": "The parts of a list",
            "smallweb shard 4 urls.txt | awk -F '\\t' '{ print $2 > \"part\" $1 \".txt\" }'":
                "A file for each of four workers",
        ],
        operands: [.text, .file],
        taker: .others
    ) { settings, words throws(FetchError) in
        guard let count = ASCII.decimal(words[0].utf8, max: Shard.countMax), count > 0 else {
            throw usageError(
                "shard wants a number of parts, not \"\(words[0])\"", hint: "smallweb shard 4 FILE")
        }
        var command = ShardCommand(
            count: count, showsAuthority: settings.run.showsAuthority,
            places: try Places(settings.registry()), messages: Messages(settings.messages))
        let names = words.count > 1 ? Array(words.dropFirst()) : ["-"]
        for name in names { try command.split(name) }
        return command.verdict.status
    }.with(\.mainOptions, ["authority"]).with(
        \.optionNames, ["authority", "plugin", "fallback-curl"])
}

private struct ShardCommand {
    let count: Int
    let showsAuthority: Bool
    let places: Places
    let messages: Messages
    var verdict = Verdict()
    var pending: [UInt8] = []

    private static let pendingMax = 65_536

    mutating func split(_ name: String) throws(FetchError) {
        let reader = try ListReader(name)
        while true {
            switch reader.take() {
            case .line(let line, _):
                add(line)
                if pending.count >= Self.pendingMax { try flush() }
            case .tooLong(let number):
                // An overlong line does not stop the following ones.
                let error = ListReader.tooLong(number)
                messages.error(InputSource.name(of: name), error)
                verdict.miss(.unusable(error.outcome))
            case .nothing:
                try flush()
                var event = pollfd(fd: reader.descriptor, events: Int16(POLLIN), revents: 0)
                // An error shows up in the next read.
                _ = poll(&event, 1, -1)
            case .failed(let error):
                try flush()
                throw error
            case .end: return try flush()
            }
        }
    }

    private mutating func add(_ line: ArraySlice<UInt8>) {
        let place = Places.url(ofLine: line).flatMap(places.place)
        pending.append(String(place?.shard(among: count) ?? 0))
        pending.append(ASCII.tab)
        if showsAuthority {
            if let place { pending.append(place.name) }
            pending.append(ASCII.tab)
        }
        pending += line
        pending.append(ASCII.lineFeed)
    }

    private mutating func flush() throws(FetchError) {
        try StandardStream.output.writeForeign(pending)
        pending.removeAll(keepingCapacity: true)
    }
}
