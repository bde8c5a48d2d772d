// SPDX-License-Identifier: MIT

// Characters for bytes that are not UTF-8, in names of the system (`SystemName`).

extension String {
    /// True if it represents bytes that are not UTF-8.
    package var hasSystemEscapes: Bool {
        // All escapes begin with this byte, which is rare in texts.
        holds(0xF4) && unicodeScalars.contains(where: \.isSystemEscape)
    }

    /// For display: U+FFFD for each byte that is not UTF-8.
    package var withoutSystemEscapes: String {
        guard hasSystemEscapes else { return self }
        var scalars = UnicodeScalarView()
        for scalar in unicodeScalars { scalars.append(scalar.isSystemEscape ? "\u{FFFD}" : scalar) }
        return String(scalars)
    }
}

extension Unicode.Scalar {
    package var isSystemEscape: Bool { 0x10FE80...0x10FEFF ~= value }
}
