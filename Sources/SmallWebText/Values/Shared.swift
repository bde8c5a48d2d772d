// SPDX-License-Identifier: MIT

/// Copy-on-write storage: a copy costs one reference, and so does a variable in the frame of an
/// async function that waits for a server.
//
// Inlined, so that a property found by a key path is a load from memory.
//
// @unchecked: a value is only changed while it has one owner.
@frozen @usableFromInline package struct Shared<Value: Sendable>: @unchecked Sendable {
    @usableFromInline package final class Box {
        // Only changed while it has one owner, by one access to that owner at a time.
        @exclusivity(unchecked) @usableFromInline var value: Value

        @inlinable init(_ value: Value) { self.value = value }
    }

    @usableFromInline var box: Box

    @inlinable package init(_ value: Value) { box = Box(value) }

    @inlinable package var value: Value {
        @inline(__always) _read { yield box.value }
        @inline(__always) _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }
}

extension Shared: Equatable where Value: Equatable {
    @usableFromInline package static func == (left: Shared, right: Shared) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }
}

extension Shared: Hashable where Value: Hashable {
    @usableFromInline package func hash(into hasher: inout Hasher) { hasher.combine(box.value) }
}
