// SPDX-License-Identifier: MIT

extension Duration {
    /// As a number of seconds, with their fraction.
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
