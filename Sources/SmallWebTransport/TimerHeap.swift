// SPDX-License-Identifier: MIT
internal import SmallWebCore

/// The waiters that have a deadline, soonest first. Each knows its place, so leaving early costs
/// O(log n) and nothing stale is kept.
struct TimerHeap {
    private var waiters: [Waiter] = []

    var soonest: Waiter? { waiters.first }

    mutating func insert(_ waiter: Waiter) {
        waiter.heapIndex = waiters.count
        waiters.append(waiter)
        siftUp(waiters.count - 1)
    }

    mutating func remove(_ waiter: Waiter) {
        guard let index = waiter.heapIndex else { return }
        waiter.heapIndex = nil
        let last = waiters.removeLast()
        guard last !== waiter else { return }
        place(last, at: index)
        siftUp(index)
        siftDown(last.heapIndex ?? index)
    }

    private mutating func place(_ waiter: Waiter, at index: Int) {
        waiters[index] = waiter
        waiter.heapIndex = index
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard waiters[index].deadline < waiters[parent].deadline else { return }
            swap(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < waiters.count && waiters[child].deadline < waiters[least].deadline {
                least = child
            }
            guard least != index else { return }
            swap(index, least)
            index = least
        }
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        let waiter = waiters[left]
        place(waiters[right], at: left)
        place(waiter, at: right)
    }
}
