// SPDX-License-Identifier: MIT

/// Protocol-specific facts about a reply or a line of it: an ordered tree of named values.
///
/// Writers of records and of `head` print it without knowing its meaning; only the protocol's
/// plugin gives the names.
///
/// Facts are equal whatever the order of their members: objects of JSON come back in another one.
public struct Facts: Sendable, Hashable {
    /// A value and its name.
    public struct Member: Sendable, Hashable {
        /// The name that the plugin gave it.
        public let name: String
        /// The value.
        public var value: Facts.Value
    }

    /// In the order in which they are printed. No two have the same name.
    public private(set) var members: [Member] = []

    /// No facts.
    public init() {}

    /// The value of a name; `nil` removes it.
    public subscript(name: String) -> Facts.Value? {
        get { members.first { $0.name == name }?.value }
        set {
            let index = members.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    private var values: [String: Facts.Value] {
        Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
    }

    /// True for the same values of the same names.
    public static func == (one: Facts, other: Facts) -> Bool {
        one.members.elementsEqual(other.members) || one.values == other.values
    }

    /// Hashes the values with their names.
    public func hash(into hasher: inout Hasher) { values.hash(into: &hasher) }

    /// True if there are no facts.
    public var isEmpty: Bool { members.isEmpty }

    /// Adds the members of `later`; objects of one name are merged, anything else is replaced.
    public mutating func merge(_ later: Facts) {
        for member in later.members {
            if case .object(var present) = self[member.name], case .object(let more) = member.value
            {
                present.merge(more)
                self[member.name] = .object(present)
            } else {
                self[member.name] = member.value
            }
        }
    }
}

extension Facts {
    /// One value of ``Facts``.
    @nonexhaustive
    public enum Value: Sendable, Hashable {
        /// A value that is not known.
        case none
        /// Text, as the server sent it.
        case text(String)
        /// Text that need not be UTF-8.
        case bytes([UInt8])
        /// A whole number.
        case number(Int)
        /// True or false.
        case flag(Bool)
        /// Values in order.
        case list([Facts.Value])
        /// Named values.
        case object(Facts)
    }
}

extension Facts: ExpressibleByDictionaryLiteral {
    /// - Precondition: No name occurs twice.
    public init(dictionaryLiteral elements: (String, Facts.Value)...) { self.init(elements) }

    /// - Precondition: No name occurs twice.
    package init(_ elements: [(String, Facts.Value)]) {
        members = elements.map { Member(name: $0, value: $1) }
    }
}

extension Facts.Value {
    /// Text, or ``none``.
    public init(_ text: String?) { self = text.map { .text($0) } ?? .none }

    /// A number, or ``none``.
    public init(_ number: Int?) { self = number.map { .number($0) } ?? .none }

    /// Named values, as one value.
    public init(_ facts: Facts) { self = .object(facts) }
}
