// SPDX-License-Identifier: MIT
// `import SmallWebFormats` is all that a user of the formats needs: items and URIs are the core's.
@_exported public import SmallWebCore
