// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import SmallWebTestSupport
import Testing

@testable import SmallWebTransport

@Suite(.timeLimit(.minutes(30)))
struct EventLoopTests {
    @Test func aSleepEndsAtItsDeadlineAndNotBefore() async throws {
        try await onLoop { loop in
            let seconds = await elapsed { await loop.sleep(until: .after(seconds: 0.02)) }
            #expect(seconds >= 0.02)
        }
    }

    @Test func sleepsEndInTheOrderOfTheirDeadlines() async throws {
        let order = try await onLoop { loop in
            let order = Recorder<Int>()
            let start = Instant.now
            await withTaskGroup(of: Void.self) { group in
                for rank in [3, 1, 4, 2, 0] {
                    group.addTask(executorPreference: loop) {
                        let time = start.nanoseconds + UInt64(rank + 1) * 5_000_000
                        await loop.sleep(until: Instant(nanoseconds: time))
                        order.add(rank)
                    }
                }
            }
            return order.values
        }
        #expect(order == [0, 1, 2, 3, 4])
    }

    /// A task that only yields is always there to be run.
    @Test func whatYieldsForEverLeavesOthersATurn() async throws {
        try await onLoop { loop in
            let isOver = Locked(false)
            let task = Task(executorPreference: loop) {
                while !isOver.withLock({ $0 }) { await Task.yield() }
            }
            await loop.sleep(until: .after(seconds: 0.01))
            let pipes = try #require(Self.pipe())
            try onThread { _ = write(pipes.writer, "x", 1) }
            await loop.untilReadable(pipes.reader, by: .after(seconds: 600))
            var byte: UInt8 = 0
            #expect(read(pipes.reader, &byte, 1) == 1)
            close(pipes.reader)
            close(pipes.writer)
            isOver.withLock { $0 = true }
            await task.value
        }
    }

    private static func pipe() -> (reader: Int32, writer: Int32)? {
        var ends: [Int32] = [-1, -1]
        return Glibc.pipe(&ends) == 0 ? (ends[0], ends[1]) : nil
    }

    @Test func aBodyRunsOnTheLoopsThread() async throws {
        try await onLoop { loop in
            #expect(loop.isCurrent)
            await Task.yield()
            #expect(loop.isCurrent)
        }
    }

    @Test func actionsFromOtherThreadsRunOnTheLoopInOrder() async throws {
        try await onLoop { loop in
            let waiter = Waiter(deadline: .after(seconds: 10))
            let seen = Recorder<Int>()
            try onThread {
                for number in 0..<100 {
                    loop.perform {
                        #expect(loop.isCurrent)
                        seen.add(number)
                    }
                }
                loop.perform { loop.finish(waiter, .ready) }
            }
            #expect(await loop.wait(waiter) == .ready)
            #expect(seen.values == Array(0..<100))
        }
    }

    @Test func aWaitEndsOnceAndKeepsItsFirstResult() async throws {
        try await onLoop { loop in
            let waiter = Waiter(deadline: .after(seconds: 10))
            loop.finish(waiter, .timedOut)
            loop.finish(waiter, .ready)
            #expect(await loop.wait(waiter) == .timedOut)
        }
    }

    @Test func aWaitOfACancelledTaskEndsAtOnce() async throws {
        try await onLoop { loop in
            let task = Task(executorPreference: loop) {
                withUnsafeCurrentTask { $0?.cancel() }
                return await loop.wait(for: [], by: .never)
            }
            #expect(await task.value == .cancelled)
        }
    }

    @Test func cancellationFromAnotherThreadEndsAWait() async throws {
        try await onLoop { loop in
            let task = Task(executorPreference: loop) {
                await loop.wait(for: [], by: .never)
            }
            try onThread { task.cancel() }
            #expect(await task.value == .cancelled)
        }
    }

    @Test func readinessThatComesBeforeTheWaitIsNotLost() async throws {
        try await onLoop { loop in
            let (ours, theirs) = try socketPair()
            let stream = try await adopt(ours, on: loop)
            // The loop polls, with nobody waiting, while the byte is already there.
            #expect(write(theirs, "x", 1) == 1)
            await loop.sleep(until: .after(seconds: 0.005))
            #expect(try await stream.readSome() == [0x78])
            close(theirs)
        }
    }

    @Test func aReaderAndAWriterOfOneDescriptorWaitIndependently() async throws {
        try await onLoop { loop in
            let (ours, theirs) = try socketPair()
            let socket = try TCPSocket(adopting: ours, on: loop)
            let filler = [UInt8](repeating: 0, count: 65_536)
            while case .bytes = try filler.withUnsafeBytes({ try socket.send($0) }) {}
            let writable = Task(executorPreference: loop) {
                await loop.wait(
                    for: [Interest(descriptor: ours, readiness: .writable)],
                    by: .after(seconds: 120))
            }
            let readable = Task(executorPreference: loop) {
                await loop.wait(
                    for: [Interest(descriptor: ours, readiness: .readable)],
                    by: .after(seconds: 120))
            }
            // Behind the two, which wait by then: an event for nobody is lost.
            let drained = Task(executorPreference: loop) {
                try onThread {
                    var piece = [UInt8](repeating: 0, count: 65_536)
                    while recv(theirs, &piece, piece.count, Int32(MSG_DONTWAIT)) > 0 {}
                }
            }
            try await drained.value
            #expect(await writable.value == .ready)
            #expect(write(theirs, "x", 1) == 1)
            #expect(await readable.value == .ready)
            withExtendedLifetime(socket) {}
            close(theirs)
        }
    }

    @Test func aLoopStopsOnceItsJobsAreDone() async throws {
        let loop = try EventLoop()
        let done = Recorder<Bool>()
        loop.perform { done.add(true) }
        loop.stop()
        loop.run()
        #expect(done.values == [true])
    }
}

struct IndexedHeapTests {
    @Test func theSoonestDeadlineIsAlwaysFirst() {
        var heap = IndexedHeap<Waiter>()
        var inside: [Waiter] = []
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<5000 {
            if inside.isEmpty || Bool.random(using: &generator) {
                let time = UInt64.random(in: 0..<1000, using: &generator)
                let waiter = Waiter(deadline: Instant(nanoseconds: time))
                heap.insert(waiter)
                inside.append(waiter)
            } else {
                let index = inside.indices.randomElement(using: &generator) ?? 0
                heap.remove(inside.remove(at: index))
            }
            #expect(heap.first?.deadline == inside.map(\.deadline).min())
        }
    }

    @Test func removingTwiceOrWithoutInsertingDoesNothing() {
        var heap = IndexedHeap<Waiter>()
        let (first, second) = (Waiter(deadline: .now), Waiter(deadline: .never))
        heap.insert(first)
        heap.remove(second)
        heap.remove(first)
        heap.remove(first)
        #expect(heap.first == nil)
        #expect(first.heapIndex == nil)
    }
}
