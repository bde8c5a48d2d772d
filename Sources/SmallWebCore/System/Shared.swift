// SPDX-License-Identifier: MIT

/// Copy-on-write storage: a copy costs one reference, and so does a variable in the frame of an
/// async function that waits for a server.
//
// @unchecked: a value is only changed while it has one owner.
struct Shared<Value: Sendable>: @unchecked Sendable {
    private final class Box {
        // Only changed while it has one owner, by one access to that owner at a time.
        @exclusivity(unchecked) var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    init(_ value: Value) { box = Box(value) }

    var value: Value {
        _read { yield box.value }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }
}

extension Shared: Equatable where Value: Equatable {
    static func == (left: Shared, right: Shared) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }
}

extension Shared: Hashable where Value: Hashable {
    func hash(into hasher: inout Hasher) { hasher.combine(box.value) }
}
