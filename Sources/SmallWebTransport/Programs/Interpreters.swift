// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// What the kernel runs when it runs a script.
enum Interpreters {
    /// More are not followed: the kernel allows four.
    private static let depthMax = 5
    /// What the kernel reads of a first line.
    private static let lineBytesMax = 256

    /// A program, the interpreter that its first line names, the one of that, and so on.
    ///
    /// - Parameter search: Where `env` looks for the program that it is told.
    static func chain(of path: String, search: [Confinement.SearchPlace]) -> [String] {
        var chain = [path]
        while chain.count < depthMax, let words = firstLine(of: chain[chain.count - 1]) {
            chain.append(words[0])
            guard words[0].hasSuffix("/env") else { continue }
            let name = words.dropFirst().first { !$0.hasPrefix("-") && !$0.contains("=") }
            guard let name else { break }
            let places = name.contains("/") ? [name] : search.map { $0.path + "/" + name }
            guard let found = places.first(where: { access($0, X_OK) == 0 }) else { break }
            chain.append(found)
        }
        return chain
    }

    /// The words after `#!`; `nil` for what is not a script.
    private static func firstLine(of path: String) -> [String]? {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { return nil }
        let file = Descriptor(owning: number)
        var bytes = [UInt8](repeating: 0, count: lineBytesMax)
        let count = read(file.borrowed, &bytes, bytes.count)
        guard count > 2, bytes[0] == 35, bytes[1] == 33 else { return nil }
        let words = bytes[2..<count].prefix { $0 != ASCII.lineFeed }
            .split { $0 == ASCII.space || $0 == ASCII.tab }.map { String(systemBytes: Array($0)) }
        return words.isEmpty ? nil : words
    }
}
