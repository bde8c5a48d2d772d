// SPDX-License-Identifier: MIT
internal import SmallWebCore

extension Proxy.Credentials {
    /// Value of an HTTP field (RFC 7617).
    var basic: String { "Basic " + Base64.encode(Array("\(user):\(password)".utf8)) }

    /// Replaces the password by `***`, alone or after the user, in all forms that ``SecretMask``
    /// knows.
    ///
    /// - Parameter masksUser: True to mask the user alone as well.
    func masked(_ text: [UInt8], masksUser: Bool = false) -> [UInt8] {
        var secrets = [Array(password.utf8)]
        if !password.isEmpty { secrets.append(Array("\(user):\(password)".utf8)) }
        if masksUser { secrets.append(Array(user.utf8)) }
        return SecretMask(secrets).masked(text)
    }

    func masked(_ text: String) -> String {
        String(decoding: masked(Array(text.utf8), masksUser: true), as: UTF8.self)
    }

    /// Masks a line of a reply's header, but keeps the field's name, or the version and status.
    func masked(headerLine line: [UInt8]) -> [UInt8] {
        let isStatus = line.starts(with: "HTTP/".utf8)
        let parts = line.split(
            separator: isStatus ? ASCII.space : ASCII.colon, maxSplits: isStatus ? 2 : 1,
            omittingEmptySubsequences: false)
        guard parts.count > 1, let text = parts.last else { return masked(line) }
        if isStatus && parts.count < 3 { return line }
        return line[..<text.startIndex] + masked(Array(text), masksUser: isStatus)
    }
}
