// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// Waiting by poll(2), for a system without epoll: all descriptors that have waiters are handed
/// over with each wait, which costs time for each of them.
//
// @unchecked: `waking` is written to by any thread, all else is used by the loop's thread alone.
final class PollSet: @unchecked Sendable {
    /// The ends of a pipe: a byte in it ends the wait.
    private let waking: Descriptor
    private let wakeUp: Descriptor
    private var polled: [pollfd] = []
    private var generations: [UInt32] = []

    init() throws(SystemError) {
        var ends: [Int32] = [0, 0]
        _ = try systemCall { swposix_pipe(&ends) }
        wakeUp = Descriptor(owning: ends[0])
        waking = Descriptor(owning: ends[1])
        for end in ends { _ = try systemCall { fcntl(end, F_SETFL, O_NONBLOCK) } }
    }

    func wake() {
        var one: UInt8 = 1
        // A full pipe wakes as well.
        _ = try? systemCall { write(waking.borrowed, &one, 1) }
    }

    /// - Throws: EPERM for a file or a directory, which are always ready, as epoll does.
    static func check(_ number: Int32) throws(SystemError) {
        var status = stat()
        _ = try systemCall { fstat(number, &status) }
        guard ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else {
            throw SystemError(number: EPERM)
        }
    }

    func wait(
        _ milliseconds: Int32, count: Int, wanted: (Int) -> (events: Int32, generation: UInt32)?,
        waited: () -> Void, ready: (Int, UInt32, _ events: Int32) -> Void
    ) {
        polled.removeAll(keepingCapacity: true)
        generations.removeAll(keepingCapacity: true)
        polled.append(pollfd(fd: wakeUp.borrowed, events: Int16(POLLIN), revents: 0))
        generations.append(0)
        for number in 0..<count {
            guard let (events, generation) = wanted(number) else { continue }
            polled.append(pollfd(fd: Int32(number), events: Int16(events), revents: 0))
            generations.append(generation)
        }
        var result = poll(&polled, nfds_t(polled.count), milliseconds)
        waited()
        // EINTR, from a signal or the end of a stop.
        if result < 0 { result = poll(&polled, nfds_t(polled.count), 0) }
        guard result > 0 else { return }
        if polled[0].revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 256)
            while read(wakeUp.borrowed, &bytes, bytes.count) == bytes.count {}
        }
        for index in polled.indices.dropFirst() where polled[index].revents != 0 {
            var events = Int32(polled[index].revents)
            // Closed without notice: its waiter sees the error of the next call.
            if events & Int32(POLLNVAL) != 0 { events |= Int32(POLLERR) }
            ready(Int(polled[index].fd), generations[index], events)
        }
    }
}
