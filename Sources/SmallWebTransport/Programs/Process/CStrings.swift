// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore

/// A NULL-terminated array of C strings, valid as long as this object lives.
final class CStrings {
    typealias List = UnsafeMutablePointer<UnsafePointer<CChar>?>

    let list: List
    private let count: Int

    init(_ strings: [String]) {
        count = strings.count
        list = .allocate(capacity: count + 1)
        for (index, string) in strings.enumerated() {
            (list + index).initialize(to: UnsafePointer(strdup(string.systemName)))
        }
        (list + count).initialize(to: nil)
    }

    deinit {
        for index in 0..<count { free(UnsafeMutablePointer(mutating: list[index])) }
        list.deallocate()
    }
}
