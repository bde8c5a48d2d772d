// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore
internal import SmallWebTransport

/// `--contain FOLDER WITHOUT BEFORE MARK WORD…`: a parent that a test can kill, which has run
/// `true` BEFORE times.
func contain(_ words: [String]) -> Never {
    guard words.count > 6, let without = UInt32(words[3]), let before = Int(words[4]) else {
        fail("too few words")
    }
    let confinement = Confinement(without: Containment.Means(rawValue: without))
    do throws(FetchError) {
        for _ in 0..<before {
            let process = try ContainedProcess(
                folder: words[2], words: ["true"], environment: [:], limits: .init(),
                descriptors: [-1, -1, -1, -1, -1, -1], confinement: confinement)
            process.end()
        }
        let process = try ContainedProcess(
            folder: words[2], words: Array(words[6...]), environment: ["SMALLWEB_MARK": words[5]],
            limits: .init(), descriptors: [-1, 1, 2, -1, -1, -1], confinement: confinement)
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
