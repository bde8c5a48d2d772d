// SPDX-License-Identifier: MIT
internal import SmallWeb

// Results of the pages of a crawl.
extension Crawl {
    /// What becomes of a page after its only attempt.
    enum Verdict {
        case done
        /// Failed for now: the next run asks again.
        case failed
        case again
        case skipped(String)
        /// Was not asked.
        case left
    }

    /// True for a body without a sign of its end, at a place whose replies never have one.
    func isWhole(_ entry: CrawlFile.Entry, _ ending: Ending, of place: Queue) -> Bool {
        guard let head = ending.head, head.replyClass == .success,
            let known = context.fetcher.registry[ending.uri.scheme],
            // Others know the end of a body by themselves.
            known.scheme.isSecure && !known.scheme.dialsForItself,
            known.handler.programVersion == nil
        else { return false }
        if ending.completeness == .complete { place.endsReplies = true }
        guard ending.completeness == .truncated, head.bodyBytes == nil, !place.endsReplies
        else { return false }
        // One that has another size each time is cut.
        let isSame = entry.bytes == nil || entry.bytes == ending.bodyBytes
        place.unended = isSame ? place.unended + 1 : 0
        if place.unended == Self.unendedMax {
            notices.append(
                "\(place.name) does not end its replies: its pages are kept as they come")
        }
        return place.unended >= Self.unendedMax
    }

    /// - Throws: The error of a page that cannot be written here: it ends the run.
    func verdict(
        on entry: CrawlFile.Entry, of place: Queue, _ result: Attempt, _ request: Request?
    ) throws(FetchError) -> Verdict {
        let outcome = result.outcome
        if let error = result.error, [.write, .read].contains(outcome) { throw error }
        place.isAsked = true
        // The scheme cannot do what an option demands.
        if outcome == .usage { return .skipped("usage") }
        if outcome == .robots { return entry.depth == 0 ? .done : .skipped("robots") }
        if outcome == .refusedAddress { return entry.depth == 0 ? .done : .skipped("private") }
        if !seeds.contains(place.name), result.error?.remedy == .fetchAlone {
            return .skipped("private")
        }
        if let request, let failure = robots.failure(of: request),
            !context.fetcher.registry.serves(request.uri)
        {
            place.failure = failure.outcome
            return leave(place, "robots.txt: \(failure.message)")
        }
        if result.error?.remedy == .raise(.pause) {
            return leave(place, result.error?.message ?? "")
        }
        if isAskedToWait(result) { return wait(entry, place, result) }
        if result.ending?.head?.refusesMethod ?? false, !entry.readsBody { return .again }
        place.pauses = 0
        let isRefused = [.connect, .resolve, .proxy].contains(result.error?.phase)
        if isRefused || [.tls, .untrusted, .trustChanged].contains(outcome) {
            place.refusals += 1
            let mayPass = [.connect, .resolve, .proxyResolve, .tls, .timeout].contains(outcome)
            guard !mayPass || place.refusals >= Self.refusalsMax else { return .again }
            place.failure = outcome
            _ = leave(place, result.error?.message ?? "")
            return .failed
        }
        place.refusals = 0
        switch outcome {
        case .connect, .receive, .send: return entry.tries + 1 < Self.resetsMax ? .again : .failed
        case .truncated where place.unended > 0 && !place.endsReplies:
            return entry.tries + 1 < Self.unendedMax ? .again : .failed
        default:
            if outcome == .permanentFailure { refused += 1 }
            return outcome.lasts ? .done : .failed
        }
    }

    private func isAskedToWait(_ result: Attempt) -> Bool {
        guard result.outcome == .temporaryFailure else { return false }
        return result.pause != nil || result.error?.retryAfter != nil
            || result.ending?.head?.isRateLimited ?? false
    }

    private func wait(_ entry: CrawlFile.Entry, _ place: Queue, _ result: Attempt) -> Verdict {
        place.isSlow = true
        place.pauses += 1
        let seconds = result.pause?.inSeconds ?? 0
        // Without a reply it was the robots file that was to wait for.
        let verdict = result.ending == nil ? Verdict.left : .failed
        if seconds > pauseSecondsMax {
            _ = leave(place, "it asks to wait \(Int(seconds)) seconds")
        } else if place.pauses > Self.pausesMax {
            _ = leave(place, "it asked \(place.pauses) times in a row to wait")
        } else if entry.tries < Self.triesMax {
            return .again
        } else if case .left = verdict {
            return leave(place, "its robots file is to be waited for")
        }
        return verdict
    }

    private func leave(_ place: Queue, _ reason: String) -> Verdict {
        place.reason = reason
        return .left
    }

    /// URLs that are done, that failed for now, and that are known.
    var progress: (done: Int, failed: Int, total: Int?) {
        (done, failed, done + underWay + waiting)
    }

    /// Hands out nothing more: the run has no time left.
    func stop() { isCut = true }

    /// Called when an attempt is over.
    func end(_ entry: CrawlFile.Entry, of place: Queue, _ verdict: Verdict) {
        switch verdict {
        case .again, .left:
            var entry = entry
            entry.tries += 1
            place.again.append(entry)
        case .failed: place.failed += 1
        case .done, .skipped: done += 1
        }
        place.underWay -= 1
        underWay -= 1
        queue(place)
        bell.ring()
    }

    /// Seconds from one request to the next, for a place and the reply to the last.
    func pace(
        _ place: Queue, _ result: Attempt, replySeconds: Double, _ request: Request?
    ) -> Double {
        let delay = request.flatMap { robots.delaySeconds(for: $0) } ?? 0
        let usual = paceSeconds * (place.isSlow ? 2 : 1)
        var least = max(usual, delay, min(60, 2 * replySeconds))
        // Doubled with each such reply, as the server gives no time.
        if isAskedToWait(result), result.pause == nil {
            least = max(least, min(pauseSecondsMax, 2 * Double(1 << min(place.pauses, 10))))
        }
        return least
    }
}
