// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let shard = Command(
        "shard N [FILE…]", operands: [.text, .file], taker: .others
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
