// SPDX-License-Identifier: MIT
internal import SmallWeb

/// For `trust`, `identity` and `plugin`.
struct StoreSettings: Sendable {
    /// What expires in so many seconds expires soon.
    var within = 14.0 * 86_400
    /// The clients of import and export.
    var importClient: String?
    var exportFormat: TrustFormat?
    var replacesPins = false
    /// Whether what cannot be undone is done without a question.
    var isForced = false
    var keyType = ClientIdentity.KeyType.ecdsa
    /// Of a new plugin.
    var language = PluginTemplate.Language.sh
}
