// SPDX-License-Identifier: MIT

/// The dot rules of RFC 1436 §3.9 on a whole reply, as simple as can be: the reference for
/// `GopherText`, which must agree for any pieces.
package func plainGopherText(_ reply: [UInt8]) -> (body: [UInt8], isTerminated: Bool) {
    var lines: [[UInt8]] = [[]]
    for byte in reply {
        lines[lines.count - 1].append(byte)
        if byte == 0x0A { lines.append([]) }
    }
    if lines.last == [] { lines.removeLast() }
    guard let last = lines.last, last == Array(".\r\n".utf8) || last == Array(".\n".utf8) else {
        return (reply, false)
    }
    let body = lines.dropLast().flatMap { $0.starts(with: "..".utf8) ? $0.dropFirst() : $0[...] }
    return (body, true)
}
