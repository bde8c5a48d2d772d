// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore
internal import SmallWebTransport

/// Trust on first use over a known_hosts file that many processes may share.
///
/// Every change is made under an exclusive lock on the file's directory, to a copy that is then
/// renamed into place: a reader sees the old store or the new one, a kill leaves one of them, and
/// no writer loses another's line.
public struct TrustStore: Sendable {
    /// How keys are judged. More policies are to come.
    public enum Policy: Sendable, Hashable {
        /// Pin the key at the first visit, insist on it afterwards.
        case tofu
        /// No decision at all, and nothing is written.
        case skip
    }

    public let path: String
    public let policy: Policy

    /// A pin's `last` and `n` are brought up to date at most this often: a store that is rewritten
    /// at every fetch would cost more than the fetch.
    private static let refreshSeconds = 86_400

    public init(path: String, policy: Policy) {
        self.path = path
        self.policy = policy
    }

    /// Judges the key behind `endpoint`; pins it when the place is new.
    ///
    /// - Parameter now: Unix seconds.
    /// - Throws: `trust-changed`; `write` or `read` when the store cannot be used; `timeout` when
    ///   another process keeps it locked.
    func judge(
        _ endpoint: Endpoint, _ certificate: CertificateFacts, now: Int, loop: EventLoop,
        by deadline: Deadline = .never
    ) async throws(FetchError) -> TrustFacts {
        guard policy == .tofu else { return TrustFacts(verdict: .skipped, firstSeen: nil) }
        let visit = Visit(endpoint: endpoint, certificate: certificate, now: now)
        let (facts, needsUpdate) = try visit.judge(try load()) { _ in }
        guard needsUpdate else { return facts }
        // Judged again under the lock: another process may have been here in between.
        let lock = try await lockDirectory(loop: loop, by: deadline)
        defer { close(lock) }
        var hosts = try load()
        let (verdict, _) = try visit.judge(hosts) { hosts = $0 }
        try save(hosts)
        return verdict
    }

    private func load() throws(FetchError) -> KnownHosts {
        do throws(SystemError) {
            let file = try systemCall { open(path, O_RDONLY | O_CLOEXEC) }
            defer { close(file) }
            let bytes = try readAll(file)
            return KnownHosts(parsing: String(decoding: bytes, as: UTF8.self))
        } catch {
            if error.number == ENOENT { return KnownHosts(parsing: "") }
            throw FetchError(
                .read, .tls, "cannot read the trust store \(path): \(error.sentence)",
                errnoName: error.name, hint: "mend it, or name another with SMALLWEB_KNOWN_HOSTS")
        }
    }

    /// Behind symbolic links: the store is locked and replaced where it really is.
    private var realPath: String {
        var path = path
        // `realpath` wants the file to exist; a link may lead to where it is still to be made.
        for _ in 0..<40 {
            if let resolved = realpath(path, nil) {
                defer { free(resolved) }
                return String(cString: resolved)
            }
            var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path, &target, target.count)
            guard count > 0 else { break }
            let text = String(decoding: target[..<count], as: UTF8.self)
            path = text.hasPrefix("/") ? text : Self.directory(of: path) + "/" + text
        }
        return path
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private var directory: String { Self.directory(of: realPath) }

    /// The directory's descriptor, locked until it is closed.
    private func lockDirectory(
        loop: EventLoop, by deadline: Deadline
    ) async throws(FetchError) -> Int32 {
        let deadline = min(deadline, .after(seconds: 30))
        var pause = 0.001
        do throws(SystemError) {
            try makeDirectories()
            let descriptor = try systemCall { open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
                let number = errno
                guard number == EWOULDBLOCK || number == EINTR, Deadline.now < deadline,
                    !Task.isCancelled
                else {
                    close(descriptor)
                    throw SystemError(number: number)
                }
                // Polled, since the loop must not block; at odd times, so that nobody starves.
                await loop.sleep(until: .after(seconds: .random(in: 0...pause)))
                pause = min(2 * pause, 0.05)
            }
            return descriptor
        } catch {
            if Task.isCancelled { throw .cancelled }
            guard error.number == EWOULDBLOCK else { throw writeFailure("cannot lock", error) }
            throw FetchError(
                .timeout, .tls, "another process keeps the trust store \(path) locked",
                errnoName: error.name, hint: "end that process, or try again later")
        }
    }

    private func makeDirectories() throws(SystemError) {
        for (index, character) in zip(directory.indices, directory)
        where character == "/" && index != directory.startIndex {
            mkdir(String(directory[..<index]), 0o700)
        }
        if mkdir(directory, 0o700) != 0 && errno != EEXIST { throw SystemError(number: errno) }
    }

    private func save(_ hosts: KnownHosts) throws(FetchError) {
        let final = realPath
        let temporary = "\(final).\(getpid()).part"
        do throws(SystemError) {
            // Whatever has this name is not ours, or is left from a process that was killed.
            unlink(temporary)
            let file = try systemCall {
                open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            }
            defer { close(file) }
            do throws(SystemError) {
                try writeAll(Array(hosts.text.utf8)[...], to: file)
                _ = try systemCall { fsync(file) }
                _ = try systemCall { rename(temporary, final) }
            } catch {
                unlink(temporary)
                throw error
            }
        } catch {
            throw writeFailure("cannot write", error)
        }
    }

    private func writeFailure(_ what: String, _ error: SystemError) -> FetchError {
        FetchError(
            .write, .tls, "\(what) the trust store \(path): \(error.sentence)",
            errnoName: error.name, hint: "name another with SMALLWEB_KNOWN_HOSTS")
    }

    /// One look at one key.
    private struct Visit {
        let endpoint: Endpoint
        let certificate: CertificateFacts
        let now: Int

        /// The verdict, whether the store should change, and the change itself.
        func judge(
            _ hosts: KnownHosts, change: (KnownHosts) -> Void
        ) throws(FetchError) -> (TrustFacts, needsUpdate: Bool) {
            let key = certificate.spkiSHA256.hex
            let pins = hosts.pins(of: endpoint.description)
            var changed = hosts
            if let pin = pins.first(where: { $0.key == key }) {
                let isStale =
                    now - (pin.last ?? 0) >= TrustStore.refreshSeconds
                    || pin.expires != certificate.notAfter
                if isStale {
                    changed.replace(pin, by: renewed(pin))
                    change(changed)
                }
                return (TrustFacts(verdict: .match, firstSeen: pin.first), isStale)
            }
            guard let known = pins.last else {
                changed.add(newPin(via: "first-use"))
                change(changed)
                return (TrustFacts(verdict: .firstUse, firstSeen: now), true)
            }
            // Once the old certificate has expired, a new key is the ordinary course of things.
            if let expires = known.expires, expires < now {
                changed.replace(known, by: newPin(via: "renewed"))
                change(changed)
                return (TrustFacts(verdict: .renewed, firstSeen: known.first), true)
            }
            throw refusal(known)
        }

        private func newPin(via: String) -> KnownHosts.Pin {
            KnownHosts.Pin(
                place: endpoint.description, key: certificate.spkiSHA256.hex,
                expires: certificate.notAfter, first: now, last: now, days: 1, via: via)
        }

        private func renewed(_ pin: KnownHosts.Pin) -> KnownHosts.Pin {
            var pin = pin
            pin.expires = certificate.notAfter
            if now - (pin.last ?? 0) >= TrustStore.refreshSeconds { pin.days += 1 }
            pin.last = now
            return pin
        }

        private func refusal(_ pin: KnownHosts.Pin) -> FetchError {
            let date = { (time: Int?) in time.map(UTCDate.day) ?? "an unknown day" }
            return FetchError(
                .trustChanged, .tls,
                "the key of \(endpoint) changed: known since \(date(pin.first)), last seen "
                    + "\(date(pin.last)), not expected to change before \(date(pin.expires)); "
                    + "key was sha256:\(pin.key), is now sha256:\(certificate.spkiSHA256.hex)",
                hint: "if the change is genuine, delete the line of \(endpoint) from the trust "
                    + "store and fetch again",
                expected: "spki-sha256:\(pin.key)",
                actual: "spki-sha256:\(certificate.spkiSHA256.hex)")
        }
    }
}
