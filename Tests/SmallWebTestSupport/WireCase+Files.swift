// SPDX-License-Identifier: MIT
internal import Foundation
package import SmallWebTesting

extension WireCase {
    /// All `.wire` files in a folder and the folders below, by name.
    ///
    /// - Parameter folder: Relative to `Tests/`.
    package static func all(in folder: String) -> [WireCase] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent()
        let root = tests.appending(path: folder)
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        let wires = (files?.allObjects ?? []).compactMap { $0 as? URL }
            .filter { $0.pathExtension == "wire" }.sorted { $0.path < $1.path }
        precondition(!wires.isEmpty, "no .wire files in \(root.path)")
        return wires.map { file in
            let name = file.path.dropFirst(root.path.count).drop { $0 == "/" }
            do {
                return try WireCase(
                    name: String(name), parsing: String(contentsOf: file, encoding: .utf8))
            } catch {
                preconditionFailure("\(file.path): \(error)")
            }
        }
    }
}
