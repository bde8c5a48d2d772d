// SPDX-License-Identifier: MIT

/// Types that other modules of the package inline and specialize, which Swift 6.3 does with members
/// of public types alone. Nothing for programs: what they have is the package's.
@_documentation(visibility: internal)
public enum Inlined {}
