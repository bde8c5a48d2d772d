// SPDX-License-Identifier: MIT
package import SmallWebTransport

extension ProxySettings {
    /// The proxy at `url` for every scheme, as an environment variable would name it.
    package static func through(_ url: String) -> ProxySettings { environment(["all_proxy": url]) }

    /// An environment with these variables alone.
    package static func environment(_ variables: [String: String]) -> ProxySettings {
        var settings = ProxySettings()
        settings.environment = variables
        return settings
    }
}
