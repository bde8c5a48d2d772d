// SPDX-License-Identifier: MIT
// `import SmallWeb` is all that a library user needs.
@_exported public import SmallWebCore
