// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// Records and tables of `smallweb trust` and `smallweb identity`.
extension JSONWriter {
    mutating func members(of pin: KnownHosts.Pin) {
        begin("trust-entry")
        member("place", pin.place)
        member("kind", pin.kind == .key ? "key" : "certificate")
        member("hash", pin.digest)
        member("expires", pin.expires.map(UTCDate.second))
        member("first_seen", pin.first.map(UTCDate.second))
        member("last_seen", pin.last.map(UTCDate.second))
        member("days", pin.days)
        member("via", pin.via)
        member("cert_sha256", pin.seenSHA256)
    }

    mutating func members(of check: TrustCheck) {
        begin("trust-check")
        member("place", check.place)
        member("ok", check.error == nil)
        member("exit", Int(check.error?.outcome.exitStatus ?? 0))
        member("outcome", (check.error?.outcome ?? .ok).rawValue)
        // The scheme only matters for values unknown to HTTP's engine.
        members(of: check.connection, isOverTLS: false, ending: nil, change: check.error)
        member("message", check.error?.fullMessage)
        member("hint", check.error?.advice)
    }

    mutating func members(of identity: IdentityStore.Entry) {
        begin("identity")
        member("name", identity.name)
        member("used_for") { writer in writer.array(identity.scopes) { $0.value($1) } }
        member("encrypted", identity.isEncrypted)
        member("cert", object: identity.certificate) { $0.members(of: $1) }
    }
}

struct TrustCheck {
    let place: String
    let connection: Connection?
    let error: FetchError?
}

func writeRecord(_ members: (inout JSONWriter) -> Void) throws(FetchError) {
    try StandardStream.output.write(JSONWriter.line(members)[...])
}

extension Settings {
    /// Prints advice about an empty list to standard error, unless notes are turned off.
    func note(_ text: String) throws(FetchError) {
        if messages.showsNotes { try StandardStream.error.write("smallweb: \(text)\n") }
    }

    func write<Value>(
        _ values: [Value], record: (inout JSONWriter, Value) -> Void, text: (Value) -> String
    ) throws(FetchError) {
        for value in values {
            if records.areWanted {
                try writeRecord { record(&$0, value) }
            } else {
                try StandardStream.output.writeForeign(text(value))
            }
        }
    }
}
