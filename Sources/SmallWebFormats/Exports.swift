// SPDX-License-Identifier: MIT
// `import SmallWebFormats` is all that a user of the formats needs: items and URIs are of the text.
@_exported public import SmallWebText
