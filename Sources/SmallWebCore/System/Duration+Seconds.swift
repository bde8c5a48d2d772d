// SPDX-License-Identifier: MIT

extension Duration {
    /// As a number of seconds, with their fraction.
    package var inSeconds: Double {
        self / .seconds(1)
    }
}

extension Double {
    /// With its fraction only when there is one.
    package var shortest: String { Int(exactly: self).map(String.init) ?? description }
}
