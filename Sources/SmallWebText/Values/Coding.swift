// SPDX-License-Identifier: MIT

// Values for a program's own files: addresses and types as their text, facts as named values.

extension URI: Codable {
    /// - Throws: `DecodingError` for a text that cannot be a URI.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        do throws(FetchError) {
            try self.init(parsing: text)
        } catch {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: error.fullMessage)
        }
    }

    /// Encodes ``description``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension MediaType: Codable {
    /// - Throws: `DecodingError` for a text that cannot be a media type.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let type = MediaType(parsing: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "not a media type")
        }
        self = type
    }

    /// Encodes ``description``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension Facts.Value: Codable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// The one member of an object that stands for bytes.
    private static let bytesName = "base64"

    /// The value that ``encode(to:)`` wrote.
    ///
    /// - Throws: `DecodingError` for numbers other than integers.
    public init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: Name.self) {
            let names = members.allKeys
            if names.map(\.stringValue) == [Self.bytesName],
                let text = try? members.decode(String.self, forKey: names[0]),
                let bytes = Base64.decode(text)
            {
                self = .bytes(bytes)
                return
            }
            self = .object(
                Facts(
                    try names.map { name in
                        let isEscaped = name.stringValue.hasPrefix("=")
                        return (
                            String(name.stringValue.dropFirst(isEscaped ? 1 : 0)),
                            try members.decode(Facts.Value.self, forKey: name)
                        )
                    }))
            return
        }
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .none
        } else if let flag = try? value.decode(Bool.self) {
            self = .flag(flag)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([Facts.Value].self) {
            self = .list(list)
        } else {
            self = .number(try value.decode(Int.self))
        }
    }

    /// Encodes the value itself: `null`, a text, a number, a flag, a list or an object. Bytes are
    /// an object with the one member `base64`; that name of an object's own member, and one that
    /// begins with `=`, gets a `=` in front.
    public func encode(to encoder: any Encoder) throws {
        if case .object(let facts) = self {
            var container = encoder.container(keyedBy: Name.self)
            for member in facts.members {
                let isEscaped = member.name == Self.bytesName || member.name.hasPrefix("=")
                let name = Name(stringValue: (isEscaped ? "=" : "") + member.name)
                try container.encode(member.value, forKey: name)
            }
            return
        }
        if case .bytes(let bytes) = self {
            var container = encoder.container(keyedBy: Name.self)
            let name = Name(stringValue: Self.bytesName)
            return try container.encode(Base64.encode(bytes), forKey: name)
        }
        var container = encoder.singleValueContainer()
        switch self {
        case .none, .object, .bytes: try container.encodeNil()
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        case .flag(let flag): try container.encode(flag)
        case .list(let list): try container.encode(list)
        }
    }
}

extension Facts: Codable {
    /// - Throws: `DecodingError` for anything but an object.
    public init(from decoder: any Decoder) throws {
        let value = try Facts.Value(from: decoder)
        guard case .object(let facts) = value else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not an object"))
        }
        self = facts
    }

    /// Encodes an object.
    public func encode(to encoder: any Encoder) throws {
        try Facts.Value.object(self).encode(to: encoder)
    }
}
