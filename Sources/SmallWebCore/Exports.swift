// SPDX-License-Identifier: MIT

// A plugin imports the core alone: URIs, errors and media types are part of its contract.
@_exported public import SmallWebText
