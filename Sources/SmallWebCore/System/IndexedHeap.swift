// SPDX-License-Identifier: MIT

package typealias IndexedHeap = Inlined.IndexedHeap
package typealias IndexedHeapElement = Inlined.HeapElement

extension Inlined {
    /// An element of an ``IndexedHeap``.
    public protocol HeapElement: AnyObject {
        /// Index in its heap; set by the heap alone.
        var heapIndex: Int? { get set }
        /// Must not change while the element is in a heap.
        func comes(before other: Self) -> Bool
    }

    /// A heap that stores each element's index in the element: removal is O(log n), and no stale
    /// entries stay. An element is in one heap at a time.
    public struct IndexedHeap<Element: HeapElement> {
        @usableFromInline var elements: [Element] = []

        @inlinable package init() {}

        @inlinable package var first: Element? { elements.first }

        @inlinable package mutating func insert(_ element: Element) {
            element.heapIndex = elements.count
            elements.append(element)
            siftUp(elements.count - 1)
        }

        /// Removes an element of this heap; ignores one that is in no heap.
        @inlinable package mutating func remove(_ element: Element) {
            guard let index = element.heapIndex else { return }
            element.heapIndex = nil
            let last = elements.removeLast()
            guard last !== element else { return }
            place(last, at: index)
            siftUp(index)
            siftDown(last.heapIndex ?? index)
        }

        @inlinable mutating func place(_ element: Element, at index: Int) {
            elements[index] = element
            element.heapIndex = index
        }

        @inlinable mutating func siftUp(_ start: Int) {
            var index = start
            while index > 0 {
                let parent = (index - 1) / 2
                guard elements[index].comes(before: elements[parent]) else { return }
                swap(index, parent)
                index = parent
            }
        }

        @inlinable mutating func siftDown(_ start: Int) {
            var index = start
            while true {
                var least = index
                for child in [2 * index + 1, 2 * index + 2]
                where child < elements.count && elements[child].comes(before: elements[least]) {
                    least = child
                }
                guard least != index else { return }
                swap(index, least)
                index = least
            }
        }

        @inlinable mutating func swap(_ left: Int, _ right: Int) {
            let element = elements[left]
            place(elements[right], at: left)
            place(element, at: right)
        }
    }
}
