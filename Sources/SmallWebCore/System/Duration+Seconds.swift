// SPDX-License-Identifier: MIT

extension Duration {
    package var inSeconds: Double {
        self / .seconds(1)
    }
}

extension Double {
    /// Without a fraction if it is whole.
    package var shortest: String { Int(exactly: self).map(String.init) ?? description }
}
