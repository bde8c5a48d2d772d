// SPDX-License-Identifier: MIT

/// Types that other modules of the package inline and specialize, which Swift 6.3 does only for
/// members of public types. Programs cannot use them: the members have package access.
@_documentation(visibility: internal)
public enum Inlined {}
