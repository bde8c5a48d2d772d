// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebTestSupport
import Testing

/// Members of records that belong to a single protocol, or are rare.
@Suite struct RecordExtrasTests {
    private let smallweb = Smallweb()

    @Test func gopherSaysTypeAndSelector() throws {
        let hole = try Hole()
        let urls = ["/1", "/0/about.txt", "/9/big/10", "/s/song.mp3"].map { hole.place + $0 }
        let records = try smallweb.records(["-s", "--no-fail"] + urls).records.terminal
        #expect(records.map { $0["gopher"]?["type"]?.string } == ["1", "0", "9", "s"])
        #expect(records[1]["gopher"]?["selector"]?.string == "/about.txt")
        let sources = records.prefix(3).map { $0["mime_source"]?.string }
        #expect(sources == ["item-type", "item-type", "item-type"])
        let named = try LoopbackServer { peer in
            _ = peer.readLine()
            peer.write("music")
        }
        let url = "gopher://127.0.0.1:\(named.port)/s/song.mp3"
        let record = try smallweb.records([url]).records.terminal[0]
        #expect(record["mime"]?.string == "audio/mpeg" && record["mime_source"]?.string == "name")
    }

    /// A member that only links have makes `--fields` choose among theirs, too.
    @Test func membersOfLinksCanBeChosen() throws {
        let page = Array("20 text/gemini\r\n=> /a A\n=> /b B\n".utf8)
        let capsule = try Capsule(page: page)
        let common: Set = ["type", "v", "n", "id"]
        func links(_ words: String...) throws -> [JSON] {
            let result = try smallweb.run(["links", "--json", "-k"] + words + [capsule.place])
            let records = try Records(result.output, areWhole: words.isEmpty)
            return records.all.filter { $0["type"]?.string == "link" }
        }
        func names(_ link: JSON) -> Set<String> {
            if case .object(let members) = link { Set(members.keys) } else { [] }
        }
        let all = names(try links()[0])
        for name in all.subtracting(common).sorted() {
            let isOfURL = ["url", "scheme"].contains(name)
            let chosen = try links("--fields", name + ",ok")
            #expect(chosen.count == 2)
            for link in chosen {
                #expect(names(link) == (isOfURL ? all : common.union([name])), "\(name)")
            }
        }
        let texts = try links("--fields", "url,text").map { $0["text"]?.string }
        #expect(texts == ["A", "B"])
    }

    @Test func gitSaysWhatTheServerCan() throws {
        let server = try LoopbackServer(handler: DemoSites.git)
        let place = "git://127.0.0.1:\(server.port)/demo.git"
        let result = try smallweb.run(["refs", "--json", place])
        let git = try Records(result.output).terminal[0]["git"]
        #expect(git?["object_format"]?.string == "sha1")
        #expect(git?["head"]?.string == "refs/heads/main")
        #expect(git?["capabilities"]?.array.isEmpty == false)
        let file = try smallweb.records([place + "//README.md"]).records.terminal[0]
        #expect(file["git"]?["protocol"]?.int == 2 && file["mime_source"]?.string == "sniffed")
    }

    @Test func aFailedFetchSaysWhatWentOverTheWire() throws {
        let (capsule, hole) = (try Capsule(), try Hole())
        hole.server.stop()
        let urls = [capsule.place + "/reset", capsule.place + "/malformed", hole.place]
        let records = try smallweb.records(["-s"] + urls + ["gemini://"]).records.terminal
        let sent = records.map { $0["bytes"]?["sent"]?.int }
        let received = records.map { $0["bytes"]?["received"]?.int }
        #expect(sent == [capsule.place.utf8.count + 8, capsule.place.utf8.count + 12, 0, nil])
        #expect((received[0] ?? 0) > 15 && received[1] == 8 && received[2] == 0)
        #expect(records[3]["bytes"] == .null)
    }

    /// A capsule that redirects to `target`.
    private func redirecting(to target: String) throws -> LoopbackServer {
        try LoopbackServer(tls: .make()) { peer in
            _ = peer.readLine()
            peer.write("30 \(target)\r\n")
        }
    }

    @Test func aFailureAfterARedirectHasTheFactsOfItsOwnHop() throws {
        let hole = try Hole()
        hole.server.stop()
        let server = try redirecting(to: hole.place + "/0/a")
        let url = "gemini://127.0.0.1:\(server.port)/"
        let (records, result) = try smallweb.records(["--proto-redir", "gopher", url])
        let record = try #require(records["error"].first)
        #expect(record["final_url"]?.string == hole.place + "/0/a")
        #expect(record["scheme"]?.string == "gopher")
        #expect(record["plugin"]?.string == "builtin:gopher")
        for name in ["remote", "tls", "trust"] { #expect(record[name] == .null, "\(name)") }
        #expect(record["redirects"]?.array.count == 1 && record["bytes"]?["received"]?.int ?? 0 > 0)
        let place = "smallweb: \(url): redirected to \(hole.place)/0/a: "
        #expect(result.errors.hasPrefix(place), "\(result.errors)")
    }

    @Test func aRefusalAfterARedirectNamesThePlaceThatRefused() throws {
        let capsule = try Capsule()
        let server = try redirecting(to: capsule.place + "/nosuch")
        let url = "gemini://127.0.0.1:\(server.port)/"
        let result = try smallweb.run(["get", "-k", url])
        #expect(result.status == 22)
        let place = "smallweb: \(url): redirected to \(capsule.place)/nosuch: "
        #expect(result.errors.hasPrefix(place), "\(result.errors)")
        // A file that cannot be written has nothing to do with that place.
        let full = try redirecting(to: capsule.place + "/")
        let there = "gemini://127.0.0.1:\(full.port)/"
        let unwritable = try smallweb.run(["get", "-k", "-o", "/nosuch/directory/f", there])
        #expect(unwritable.status == 23)
        #expect(unwritable.errors.hasPrefix("smallweb: \(there): cannot create"))
    }

    @Test func thePluginIsThatOfTheFinalURL() throws {
        let hole = try Hole()
        let server = try redirecting(to: hole.place + "/0/about.txt")
        let url = "gemini://127.0.0.1:\(server.port)/"
        let record = try smallweb.records(["--proto-redir", "gopher", url]).records.terminal[0]
        #expect(record["scheme"]?.string == "gopher" && record["tls"] == .null)
        #expect(record["plugin"]?.string == "builtin:gopher")
    }

    @Test func theHandshakeIsDescribed() throws {
        let capsule = try Capsule()
        let tls = try smallweb.records([capsule.place + "/"]).records.terminal[0]["tls"]
        #expect(tls?["chain_length"]?.int == 1)
        #expect(tls?["alpn"] == .null && tls?["client_cert"] == .null)
        let web = try LoopbackServer(tls: .make(), handler: DemoSites.web)
        let url = "https://127.0.0.1:\(web.port)/about"
        let record = try smallweb.records([url]).records.terminal[0]
        #expect(record["tls"]?["chain_length"]?.int == 1, "\(record)")
    }

    @Test func theVersionIsARecord() throws {
        let records = try Records(try smallweb.run(["--version", "--json"]).output)
        #expect(records.all.count == 1)
        let version = try #require(records.all[0]["version"]?.string)
        #expect(try smallweb.run(["--version"]).text.hasPrefix("smallweb \(version) (libcurl/"))
        let number = try #require(records.all[0]["openssl"]?.string?.prefix(2))
        #expect(["3.", "4."].contains(number))
    }

    @Test func aSummaryIsThereWhenItIsWanted() throws {
        let capsule = try Capsule()
        let one = [capsule.place + "/about"]
        #expect(try smallweb.records(one).records.summary == nil)
        let summary = try smallweb.records(["--summary"] + one).records.summary
        #expect(summary?["requests"]?.int == 1 && summary?["ok"]?.int == 1)
        #expect(summary?["bytes"]?.int == 24 && summary?["by_exit"]?["0"]?.int == 1)
        // Several URLs have one anyway.
        let two = try smallweb.records(["-s", capsule.place + "/status/51"] + one).records.summary
        #expect(two?["by_exit"]?["22"]?.int == 1 && two?["exit"]?.int == 22)
    }

    @Test func linksAlone() throws {
        let capsule = try Capsule()
        let url = capsule.place + "/links/"
        let all = try Records(try smallweb.run(["links", "--json", url]).output).all
        let words = ["--json", "--only", "links"]
        for command in [["links"], ["ls"], ["get", "--with-links"], ["-j", "2", "links"]] {
            let result = try smallweb.run(command + words + [url])
            #expect(result.status == 0, "\(result.errors)")
            let links = try Records(result.output).all
            #expect(links.count == all.count - 1, "\(command)")
            #expect(links.allSatisfy { $0["type"]?.string == "link" }, "\(command)")
        }
        // What failed has its record, and its status.
        let missing = try smallweb.run(["links"] + words + [url, capsule.place + "/status/51"])
        #expect(missing.status == 22, "\(missing.errors)")
        let records = try Records(missing.output)
        #expect(records["response"].map { $0["status"]?.int } == [51])
        #expect(records["summary"].count == 1 && records["link"].count == all.count - 1)
        for (line, message) in [
            ("links --only links", "is about JSON records"),
            ("get --json --only links", "--with-links"),
            ("head --json --only links", "--with-links"),
            ("links --json --only timeout", "needs a --ledger"),
        ] {
            let result = try smallweb.run(line.split(separator: " ").map(String.init) + [url])
            #expect(result.status == 2 && result.errors.contains(message), "\(result.errors)")
        }
    }
}
