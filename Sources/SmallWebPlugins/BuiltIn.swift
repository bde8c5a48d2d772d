// SPDX-License-Identifier: MIT
internal import FingerPlugin
internal import GeminiPlugin
internal import GopherPlugin
internal import HTTPPlugin
public import SmallWebCore

extension Registry {
    /// The handlers that smallweb comes with.
    public static let builtIn: Registry = {
        var registry = Registry()
        let handlers: [any ProtocolHandler] = [
            FingerPlugin(),
            GeminiPlugin(),
            GopherPlugin(),
            HTTPPlugin(),
        ]
        for handler in handlers {
            do {
                try registry.register(handler)
            } catch {
                preconditionFailure("two built-in plugins claim one scheme: \(error)")
            }
        }
        return registry
    }()
}
