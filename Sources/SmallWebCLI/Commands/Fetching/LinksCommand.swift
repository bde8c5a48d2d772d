// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let links = Command(
        "links URL…", taker: .links
    ) { settings, operands throws(FetchError) in
        var settings = settings
        settings.list(.links)
        return try GetCommand(settings, operands).run()
    }.with(\.aliases, ["ls"])
}
