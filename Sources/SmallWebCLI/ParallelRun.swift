// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Several URLs at a time. Their bodies for standard output are held back until all earlier URLs
/// are done, so that the output is the same as that of a serial run.
struct ParallelRun {
    /// What one URL may hold in memory; more goes to a temporary file.
    static let heldBytesMax = 65_536

    private let jobs: [OneURL]
    private let settings: Settings
    private let hosts: [String]
    private var outcomes: [Outcome?]
    /// Not started yet, in order.
    private var waiting: ArraySlice<Int>
    private var running: [String: Int] = [:]
    /// The first job whose body has not been written.
    private var next = 0

    init(_ jobs: [OneURL], _ settings: Settings) {
        self.jobs = jobs
        self.settings = settings
        hosts = jobs.map { Self.host($0.url) }
        outcomes = Array(repeating: nil, count: jobs.count)
        waiting = Array(jobs.indices)[...]
    }

    /// - Returns: The exit status: the first failing URL's, in the order given.
    /// - Throws: `write` when standard output fails.
    mutating func run() async throws(FetchError) -> Int32 {
        // Nothing runs further ahead of the output than this, so held bodies are bounded too.
        let window = max(4 * settings.jobs, 64)
        var failure: FetchError?
        await withTaskGroup(of: (Int, Outcome).self) { group in
            var active = 0
            while next < jobs.count && failure == nil {
                while active < settings.jobs, let index = startNext(before: next + window) {
                    let job = jobs[index]
                    active += 1
                    group.addTask { (index, await job.run()) }
                }
                guard let (index, outcome) = await group.next() else { break }
                active -= 1
                running[hosts[index], default: 1] -= 1
                outcomes[index] = outcome
                if outcome == .interrupted { failure = .cancelled }
                do throws(FetchError) {
                    try await writeFinished()
                } catch {
                    failure = error
                }
            }
            group.cancelAll()
        }
        if let failure { throw failure }
        return outcomes.compactMap { $0?.exitStatus }.first { $0 != 0 } ?? 0
    }

    /// Takes the first waiting job whose host has room.
    private mutating func startNext(before limit: Int) -> Int? {
        let candidate = waiting.first { index in
            index >= limit || running[hosts[index], default: 0] < settings.jobsPerHost
        }
        guard let candidate, candidate < limit, let place = waiting.firstIndex(of: candidate)
        else { return nil }
        if place == waiting.startIndex { waiting.removeFirst() } else { waiting.remove(at: place) }
        running[hosts[candidate], default: 0] += 1
        return candidate
    }

    /// What is between `://` and the next slash: good enough to tell hosts apart.
    private static func host(_ url: String) -> String {
        let isMark = { (byte: UInt8) in byte == ASCII.colon || byte == ASCII.slash }
        let rest = url.utf8.drop { $0 != ASCII.colon }.drop(while: isMark)
        let host = rest.prefix { $0 != ASCII.slash && $0 != ASCII.questionMark }
        return String(decoding: host, as: UTF8.self).lowercased()
    }

    private mutating func writeFinished() async throws(FetchError) {
        while next < jobs.count, outcomes[next] != nil {
            if case .held(let spool) = jobs[next].target {
                try await spool.drain { bytes throws(FetchError) in
                    try StandardStream.output.write(bytes)
                }
            }
            next += 1
        }
    }
}
