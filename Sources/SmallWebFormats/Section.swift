// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The part of a gemtext page below one heading: from the first heading line with its text to the
/// next heading of its level or above. Pure.
public struct GemtextSection: Sendable {
    private enum Place: Sendable {
        case before
        case within(level: Int)
        case behind
    }

    private let heading: [UInt8]
    private var place = Place.before

    /// - Parameter heading: The text without its mark; blanks around it are ignored.
    public init(under heading: String) {
        self.heading = Array(Array(heading.utf8)[...].trimmed)
    }

    /// True if the heading has come.
    public var wasFound: Bool { if case .before = place { false } else { true } }

    /// True if the line belongs to the part, which excludes the heading itself. Must be called with
    /// each line of the page in order.
    public mutating func includes(_ line: GemtextLine) -> Bool {
        guard case .heading(let level) = line.kind else {
            if case .within = place { return true }
            return false
        }
        switch place {
        case .before:
            if line.text == heading { place = .within(level: level) }
            return false
        case .within(let own):
            if level <= own { place = .behind }
            return level > own
        case .behind: return false
        }
    }
}
