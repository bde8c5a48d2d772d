// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Client certificates that arrive at a server, and client certificates that do not.
@Suite(.timeLimit(.minutes(30)))
struct IdentityWireTests {
    private let smallweb: Smallweb
    private let certificate = TestCertificate.make(names: ["a.test", "b.test"])

    init() {
        var smallweb = Smallweb()
        smallweb.environment["SMALLWEB_IDENTITIES"] = smallweb.home.file("ids")
        self.smallweb = smallweb
    }

    /// Redirects `/to/HOST/PATH` there, within the server; else says whose certificate came.
    private func server(
        _ demand: LoopbackServer.IdentityDemand = .requested,
        versions: ClosedRange<Int32> = TLSVersion.two...TLSVersion.three
    ) throws -> LoopbackServer {
        try LoopbackServer(tls: certificate, versions: versions, identity: demand) { peer in
            let line = String(decoding: peer.readLine() ?? [], as: UTF8.self)
            // CR LF is one Character.
            let parts = line.dropLast().split(separator: "/").map(String.init)
            if parts.count > 3, parts[2] == "to" {
                let path = parts.dropFirst(4).joined(separator: "/")
                peer.write("30 gemini://\(parts[3]):\(peer.localPort)/\(path)\r\n")
            } else {
                peer.write("20 text/plain\r\n\(peer.identity?.hex ?? "nobody")")
            }
        }
    }

    private func identity(_ name: String, _ more: [String] = []) throws -> String {
        let made = try smallweb.run(["identity", "new", "--json", name] + more)
        #expect(made.status == 0, "\(made.errors)")
        let record = try #require(try Records(made.output)["identity"].first)
        return try #require(record["cert"]?["sha256"]?.string)
    }

    /// The client certificate that the last hop saw.
    private func who(
        _ server: LoopbackServer, _ path: String, _ options: [String] = [],
        host: String = "a.test"
    ) throws -> String {
        let resolve = ["a.test", "b.test"].flatMap {
            ["--resolve", "\($0):\(server.port):127.0.0.1"]
        }
        let result = try smallweb.run(
            ["get", "-k"] + resolve + options + ["gemini://\(host):\(server.port)/\(path)"])
        #expect(result.status == 0, "\(result.errors)")
        return result.text
    }

    @Test func aBoundIdentityArrivesInItsScopeAlone() throws {
        let server = try server()
        let alice = try identity("alice", ["gemini://a.test:\(server.port)/private"])
        for (path, isShown) in [
            ("private", true), ("private/", true), ("private/x?y", true),
            ("private/../private", true),
            ("privateer", false), ("", false), ("private/../else", false), ("PRIVATE", false),
            ("else/../private/x", true), ("%70rivate", false),
            ("private/%2e%2E/else", false), ("private/..%2felse", false), ("private/a%20b", true),
            ("private/..%5Celse", false), ("private/...%2e", true),
        ] {
            #expect(try who(server, path) == (isShown ? alice : "nobody"), "\(path)")
        }
        #expect(try who(server, "private", host: "b.test") == "nobody")
        let other = try self.server()
        #expect(try who(other, "private") == "nobody", "another port")
    }

    @Test func theNarrowerPlaceWins() throws {
        let server = try server()
        let place = "gemini://a.test:\(server.port)"
        let (alice, bob) = (
            try identity("alice", ["\(place)/app/admin"]), try identity("bob", ["\(place)/"])
        )
        #expect(try who(server, "app/admin/x") == alice)
        #expect(try who(server, "app") == bob)
        // titan is the same place, and the last one that was bound to it.
        let titan = "titan://a.test:\(server.port)/app/admin"
        #expect(try smallweb.run(["identity", "use", "bob", titan]).status == 0)
        #expect(try who(server, "app/admin/x") == bob)
        #expect(try smallweb.run(["identity", "unuse", "bob", titan]).status == 0)
        #expect(try who(server, "app/admin/x") == bob)
        #expect(try smallweb.run(["identity", "unuse", "bob"]).status == 0)
        #expect(try who(server, "app/admin/x") == "nobody")
    }

    @Test func aRedirectLeavesTheIdentityBehind() throws {
        let server = try server()
        let place = "gemini://a.test:\(server.port)"
        let alice = try identity("alice", ["\(place)/to"])
        #expect(try who(server, "to/b.test/x") == "nobody")
        #expect(try who(server, "to/a.test/x") == "nobody", "out of its scope")
        #expect(try who(server, "to/a.test/to-else") == "nobody")
        let chosen = ["--identity", "alice"]
        #expect(try who(server, "to/a.test/x", chosen) == alice, "the host that was asked for")
        #expect(try who(server, "to/b.test/x", chosen) == "nobody")
        #expect(try who(server, "to/b.test/to/a.test/x", chosen) == alice, "and back")
        server.stop()
        for connection in server.connections where connection.serverName == "b.test" {
            #expect(connection.identity == nil)
        }
        #expect(server.connections.contains { $0.identity?.hex == alice })
    }

    @Test func nobodyWhoDoesNotAskGetsOne() throws {
        let server = try server(.none)
        _ = try identity("alice")
        #expect(try who(server, "x", ["--identity", "alice"]) == "nobody")
    }

    @Test func aChainGoesAlong() throws {
        let server = try server()
        let root = TestCertificate.make(names: [], ips: [], commonName: "r", isAuthority: true)
        let leaf = TestCertificate.make(names: [], ips: [], commonName: "l", issuer: root)
        let file = smallweb.home.file("chain.pem")
        try Data((leaf.certificatePEM + root.certificatePEM + leaf.keyPEM).utf8)
            .write(to: URL(fileURLWithPath: file))
        #expect(try who(server, "x", ["-E", file]) == leaf.sha256.hex)
        #expect(try smallweb.run(["identity", "import", "chained", file]).status == 0)
        #expect(try who(server, "x", ["--identity", "chained"]) == leaf.sha256.hex)
        server.stop()
        #expect(server.connections.map(\.identityChainCount) == [2, 2])
    }

    @Test func beforeTLS13ItIsSeenByAll() throws {
        let old = try server(versions: TLSVersion.two...TLSVersion.two)
        let new = try server(versions: TLSVersion.three...TLSVersion.three)
        let alice = try identity("alice")
        for (server, isWarning, options) in [
            (old, true, ["--identity", "alice"]), (new, false, ["--identity", "alice"]),
            (old, false, []),
        ] {
            let result = try smallweb.run(
                ["get", "--json", "-k"] + options + ["gemini://127.0.0.1:\(server.port)/"])
            let record = try #require(try Records(result.output).terminal.first)
            let codes = record["warnings"]?.array.compactMap { $0["code"]?.string } ?? []
            #expect(codes.contains("identity-in-clear") == isWarning, "\(options)")
            let shown = options.isEmpty ? JSON.null : .string("sha256:" + alice)
            #expect(record["tls"]?["client_cert"] == shown)
        }
    }

    @Test(arguments: [TLSVersion.two, TLSVersion.three])
    func whatTLSDemandsIsAnIdentity(_ version: Int32) throws {
        let server = try server(.required, versions: version...version)
        let url = "gemini://127.0.0.1:\(server.port)/"
        let result = try smallweb.run(["get", "--json", "-k", url])
        #expect(result.status == 98, "\(result.errors)")
        let error = try #require(try Records(result.output).terminal.first)["error"]
        #expect(error?["hint"]?.string?.contains("smallweb identity new NAME") == true)
        let alice = try identity("alice", [url])
        #expect(try smallweb.run(["get", "-k", url]).text == alice)
    }

    @Test(arguments: [TLSVersion.two, TLSVersion.three])
    func aRefusalIsAboutTheIdentityAndAFailureIsNot(_ version: Int32) throws {
        _ = try identity("alice")
        for (demand, status) in [
            (LoopbackServer.IdentityDemand.refusing, Int32(98)),
            (.failing, version == TLSVersion.two ? 35 : 56),
        ] {
            let server = try server(demand, versions: version...version)
            let url = "gemini://127.0.0.1:\(server.port)/"
            let result = try smallweb.run(["get", "-k", "--identity", "alice", url])
            #expect(result.status == status, "\(demand): \(result.errors)")
            #expect(try smallweb.run(["get", "-k", url]).text == "nobody")
        }
    }

    @Test func aRequestOfAListNamesItsIdentity() throws {
        let server = try server()
        let (alice, bob) = (try identity("alice"), try identity("bob"))
        let url = "gemini://127.0.0.1:\(server.port)/"
        let lines = ["alice", "bob", "nobody-at-all"].map {
            #"{"url":"\#(url)","identity":"\#($0)"}"#
        }
        let (records, _) = try smallweb.records(
            ["-"], stdin: (lines + [url]).joined(separator: "\n") + "\n")
        #expect(
            records.terminal.map { $0["body"]?["text"]?.string } == [alice, bob, nil, "nobody"])
        #expect(records.exits == [0, 0, 58, 0])
    }

    /// One process, one host: no TLS session is used for somebody else.
    @Test(arguments: [TLSVersion.two, TLSVersion.three])
    func noSessionCarriesAnIdentityElsewhere(_ version: Int32) throws {
        let server = try server(versions: version...version)
        let place = "gemini://127.0.0.1:\(server.port)"
        let (alice, bob) = (
            try identity("alice", ["\(place)/alice"]), try identity("bob", ["\(place)/bob"])
        )
        let paths = ["x", "alice/1", "bob/1", "y", "alice/2", "bob/2", "bobby"]
        let result = try smallweb.run(["get", "-k"] + paths.map { "\(place)/\($0)" })
        #expect(result.text == "nobody" + alice + bob + "nobody" + alice + bob + "nobody")
    }

    // MARK: HTTPS

    private func site(
        _ demand: LoopbackServer.IdentityDemand = .requested,
        versions: ClosedRange<Int32> = TLSVersion.two...TLSVersion.three
    ) throws -> LoopbackServer {
        try LoopbackServer(tls: certificate, versions: versions, identity: demand) { peer in
            while let first = peer.readLine() {
                while let line = peer.readLine(), line.count > 2 {}
                let path = String(decoding: first, as: UTF8.self).split(separator: " ")[1]
                let parts = path.split(separator: "/").map(String.init)
                if parts.count > 1, parts[0] == "to" {
                    let target = "https://\(parts[1]):\(peer.localPort)/there"
                    peer.write("HTTP/1.1 302 Found\r\nLocation: \(target)\r\n")
                    peer.write("Content-Length: 0\r\n\r\n")
                } else {
                    let who = peer.identity?.hex ?? "nobody"
                    peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(who.utf8.count)\r\n\r\n\(who)")
                }
            }
        }
    }

    private func web(
        _ server: LoopbackServer, _ paths: [String], _ options: [String] = []
    ) throws -> String {
        let resolve = ["a.test", "b.test"].flatMap {
            ["--resolve", "\($0):\(server.port):127.0.0.1"]
        }
        let urls = paths.map { "https://a.test:\(server.port)/\($0)" }
        let result = try smallweb.run(["get", "-k"] + resolve + options + urls)
        #expect(result.status == 0, "\(result.errors)")
        return result.text
    }

    @Test func httpsShowsAnIdentityToItsHostAlone() throws {
        let server = try site()
        let alice = try identity("alice")
        let chosen = ["--identity", "alice"]
        #expect(try web(server, ["x"]) == "nobody")
        #expect(try web(server, ["x"], chosen) == alice)
        #expect(try web(server, ["to/a.test"], chosen) == alice)
        #expect(try web(server, ["to/b.test"], chosen) == "nobody")
        let plain = try smallweb.run(["get", "--identity", "alice", "http://127.0.0.1:1/"])
        #expect(plain.status == 2)
        server.stop()
        for connection in server.connections where connection.serverName == "b.test" {
            #expect(connection.identity == nil)
        }
    }

    /// One process, one host: neither a connection nor a TLS session is used for somebody else.
    @Test(arguments: [TLSVersion.two, TLSVersion.three])
    func libcurlKeepsIdentitiesApart(_ version: Int32) throws {
        let server = try site(versions: version...version)
        let place = "https://a.test:\(server.port)"
        let alice = try identity("alice", ["\(place)/alice"])
        let bob = try identity("bob", ["\(place)/bob"])
        let seen = try web(server, ["x", "alice/1", "bob/1", "y", "alice/2", "bob/2", "bobby"])
        #expect(
            seen == "nobody" + alice + bob + "nobody" + alice + bob + "nobody")
    }

    @Test func anEncryptedKeyGoesToLibcurlOpenedInMemory() throws {
        let server = try site()
        let leaf = TestCertificate.make()
        let file = smallweb.home.file("locked.pem")
        try Data((leaf.certificatePEM + leaf.encryptedKeyPEM(password: "sesame")).utf8)
            .write(to: URL(fileURLWithPath: file))
        try Data("sesame\n".utf8).write(to: URL(fileURLWithPath: smallweb.home.file("pw")))
        let password = ["--key-password-file", smallweb.home.file("pw")]
        #expect(try web(server, ["x"], ["-E", file] + password) == leaf.sha256.hex)
        let url = "https://127.0.0.1:\(server.port)/"
        #expect(try smallweb.run(["get", "-k", "-E", file, url]).status == 58)
    }

    @Test(arguments: [TLSVersion.two, TLSVersion.three])
    func whatHTTPSDemandsIsAnIdentity(_ version: Int32) throws {
        let server = try site(.required, versions: version...version)
        let alice = try identity("alice")
        let url = "https://127.0.0.1:\(server.port)/"
        let refused = try smallweb.run(["get", "-k", url])
        #expect(refused.status == (version == TLSVersion.three ? 98 : 35), "\(refused.errors)")
        #expect(try smallweb.run(["get", "-k", "--identity", "alice", url]).text == alice)
    }
}
