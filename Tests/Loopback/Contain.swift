// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore
internal import SmallWebTransport

/// `--contain FOLDER WITHOUT MARK WORD…`: a parent that a test can kill.
func contain(_ words: [String]) -> Never {
    guard words.count > 5, let without = UInt32(words[3]) else { fail("too few words") }
    do throws(FetchError) {
        let process = try ContainedProcess(
            folder: words[2], words: Array(words[5...]), environment: ["SMALLWEB_MARK": words[4]],
            limits: .init(), descriptors: [-1, 1, 2, -1, -1, -1],
            confinement: Confinement(without: Containment.Means(rawValue: without)))
        while true {
            var event = pollfd(fd: process.endDescriptor, events: Int16(POLLIN), revents: 0)
            poll(&event, 1, -1)
            guard try process.reap() != nil else { continue }
            process.end()
            exit(1)
        }
    } catch {
        fail("\(error)")
    }
}
