// SPDX-License-Identifier: MIT
// `import SmallWeb` is all that a library user needs.
@_exported public import SmallWebCore
@_exported public import SmallWebPlugins
@_exported public import SmallWebTransport
