// SPDX-License-Identifier: MIT
import SmallWebCore
import Testing

@testable import SmallWeb

/// The verdict of each policy for one certificate and one store, without a network.
@Suite struct TrustPolicyTests {
    private static let now = 1_800_000_000
    private let place = Endpoint(host: "a.test", port: 1965, security: .tls)

    private func tls(
        key: UInt8 = 1, expires: Int = now + 1000, from: Int = now - 1000, matches: Bool = true,
        authority: Connection.Authority = .unchecked
    ) -> Connection.TLS {
        var certificate = Connection.Certificate(
            sha256: [UInt8](repeating: key &+ 100, count: 32),
            spkiSHA256: [UInt8](repeating: key, count: 32), subject: "", issuer: "",
            notBefore: from, notAfter: expires, matchesHost: matches)
        certificate.sha512 = [UInt8](repeating: key &+ 200, count: 64)
        return Connection.TLS(
            version: "TLSv1.3", cipher: "", serverName: nil, certificate: certificate,
            authority: authority)
    }

    private func judge(
        _ policy: TrustStore.Policy, _ tls: Connection.TLS, _ hosts: inout KnownHosts,
        approved: Bool = false
    ) throws(FetchError) -> Connection.Trust.Verdict {
        var visit = TrustVisit(
            endpoint: place, tls: tls, now: Self.now, policy: policy, path: "known_hosts")
        visit.isApproved = approved
        if let facts = try visit.judgeWithoutStore() { return facts.verdict }
        let (facts, change) = try visit.judge(hosts.lines(of: place.description))
        if let change { hosts.apply(change) }
        return facts.verdict
    }

    private func outcome(
        _ policy: TrustStore.Policy, _ tls: Connection.TLS, _ hosts: KnownHosts
    ) -> Outcome? {
        var copy = hosts
        do throws(FetchError) { _ = try judge(policy, tls, &copy) } catch { return error.outcome }
        return nil
    }

    private let empty = KnownHosts(parsing: [])

    private func knowing(_ tls: Connection.TLS) throws -> KnownHosts {
        var hosts = empty
        #expect(try judge(.tofu, tls, &hosts) == .firstUse)
        return hosts
    }

    @Test func authoritiesMindDatesNamesAndTheirOwnWord() throws {
        var hosts = empty
        #expect(try judge(.ca, tls(authority: .vouched), &hosts) == .ca)
        #expect(hosts == empty, "nothing is stored")
        for bad in [
            tls(authority: .refused("self-signed")), tls(matches: false, authority: .vouched),
            tls(expires: Self.now - 1, authority: .vouched),
            tls(from: Self.now + 1, authority: .vouched),
        ] {
            #expect(outcome(.ca, bad, empty) == .untrusted)
            #expect(outcome(.both, bad, empty) == .untrusted)
            #expect(outcome(.tofu, bad, empty) == nil, "first use minds none of it")
            #expect(bad.problems(at: Self.now).count == 1)
        }
    }

    @Test func bothWantsTheKnownKeyToo() throws {
        let hosts = try knowing(tls(key: 1))
        #expect(outcome(.both, tls(key: 1, authority: .vouched), hosts) == nil)
        #expect(outcome(.both, tls(key: 2, authority: .vouched), hosts) == .trustChanged)
    }

    @Test func lockedAcceptsNothingNewAndStoresNothing() throws {
        #expect(outcome(.locked, tls(), empty) == .untrusted)
        var hosts = try knowing(tls(key: 1, expires: Self.now - 10))
        let before = hosts
        #expect(try judge(.locked, tls(key: 1, expires: 7), &hosts) == .match)
        #expect(hosts == before)
        #expect(outcome(.locked, tls(key: 2), hosts) == .trustChanged, "not even a renewed one")
    }

    @Test func askWantsAYesForEachNewKey() throws {
        #expect(outcome(.ask, tls(), empty) == .untrusted)
        var hosts = empty
        #expect(try judge(.ask, tls(key: 1), &hosts, approved: true) == .firstUse)
        #expect(outcome(.ask, tls(key: 1), hosts) == nil)
        #expect(outcome(.ask, tls(key: 2), hosts) == .trustChanged)
        #expect(try judge(.ask, tls(key: 2), &hosts, approved: true) == .changed)
        #expect(hosts.pins.map(\.via) == ["asked"])
    }

    @Test func aPinIsTheKeyOrTheCertificateAndNeedsNoStore() throws {
        var hosts = empty
        let facts = tls(key: 5)
        #expect(try judge(.pin(facts.certificate.spkiSHA256), facts, &hosts) == .pinned)
        #expect(try judge(.pin(facts.certificate.sha256), facts, &hosts) == .pinned)
        #expect(outcome(.pin(facts.certificate.sha256), tls(key: 6), hosts) == .trustChanged)
        #expect(hosts == empty)
    }

    @Test func aChangedKeyIsNamedWithTheCommandThatAcceptsIt() throws {
        var hosts = try knowing(tls(key: 1))
        do throws(FetchError) {
            _ = try judge(.tofu, tls(key: 2), &hosts)
            Issue.record("it was accepted")
        } catch {
            let key = [UInt8](repeating: 2, count: 32).hex
            #expect(error.expected == "spki-sha256:" + [UInt8](repeating: 1, count: 32).hex)
            #expect(error.actual == "spki-sha256:" + key)
            #expect(error.remedy == .replaceKey(place, key: "sha256:\(key)"))
        }
    }

    @Test(arguments: [
        (KnownHosts.Pin.Algorithm.sha256, [UInt8](repeating: 101, count: 32)),
        (.sha512, [UInt8](repeating: 201, count: 64)),
    ])
    func aPinnedCertificateBecomesAPinnedKey(
        _ algorithm: KnownHosts.Pin.Algorithm, digest: [UInt8]
    ) throws {
        var hosts = empty
        let pin = try #require(
            KnownHosts.Pin(
                place: "a.test:1965", .certificate, algorithm, digest: digest.hex, first: 7,
                via: "import:gmni"))
        hosts.add(pin)
        #expect(outcome(.tofu, tls(key: 2), hosts) == .trustChanged)
        #expect(try judge(.tofu, tls(key: 1), &hosts) == .match)
        let now = try #require(hosts.pins.first)
        #expect(now.kind == .key)
        #expect(now.key == [UInt8](repeating: 1, count: 32).hex)
        #expect(now.first == 7)
        #expect(KnownHosts(parsing: hosts.bytes) == hosts)
    }
}
