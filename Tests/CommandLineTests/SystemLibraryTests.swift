// SPDX-License-Identifier: MIT
import Foundation
import SmallWebTestSupport
import Testing

/// Libraries that are opened by name, in a mount namespace where other names are there.
@Suite(
    .timeLimit(.minutes(30)),
    .enabled(if: Smallweb.canMount, "no user and mount namespaces on this machine"))
struct SystemLibraryTests {
    /// Runs the rest of the command line where the directory of libraries consists of links to what
    /// is there. First, `$change` may change them; `$number` is that of this machine's OpenSSL.
    private static let elsewhere = #"""
        path=$(PATH=$PATH:/sbin ldconfig -p | sed -n 's/.*libcurl\.so\.4 .* => //p' | head -n 1)
        export path=$(readlink -f "$path")
        exec unshare --map-root-user --mount sh -ec '
            all=$(dirname "$path") number=3 other=4
            [ -e "$all/libssl.so.3" ] || { number=4; other=3; }
            mkdir -p own
            mount -t tmpfs none own
            mkdir own/real own/links
            mount --bind "$all" own/real
            ln -s "$PWD"/own/real/* own/links
            cd own/links
            # name_other FILE…: copies in which all names of OpenSSL have the other number.
            name_other() {
                for file; do
                    sed "s/\(libssl\.so\|libcrypto\.so\)\.$number/\1.$other/g
                        s/\x00$number\(\.[0-9]*\.[0-9]*\x00\)/\x00$other\1/g" \
                        "$file" >new
                    rm -f "$file"
                    mv new "$file"
                done
            }
            users=libcurl.so.4\ $(ldd "$path" | sed "s/.*=> //; s/ .*//" \
                | xargs grep -ls "libcrypto\.so\.$number" | sed "s,.*/,," \
                | grep -v "^libssl\.\|^libcrypto\.")
            eval "$change"
            cd ../..
            mount --bind own/links "$all"
            exec "$@"' sh "$@"
        """#

    private static let both = """
        for name in libssl libcrypto; do
            cp $name.so.$number $name.so.$other
            name_other $name.so.$other
        done
        """
    private static let alone = "rm libssl.so.$number libcrypto.so.$number"
    private static let forCurl = "name_other $users"

    /// Where libcurl has another one than we would take, each keeps to its own.
    @Test(
        arguments: [
            ([], true), ([both, alone, forCurl], true), ([both], true), ([both, forCurl], true),
            // The files alone have other names, which libcurl does not ask for.
            (["for f in libssl libcrypto; do mv $f.so.$number $f.so.$other; done"], false),
        ] as [([String], Bool)])
    func eitherOpenSSLDoes(_ changes: [String], hasHTTP: Bool) throws {
        let change = changes.joined(separator: "\n")
        let here = try Records(try run("", ["--version", "--json"]).output).all[0]["openssl"]?
            .string
        let capsule = try Capsule()
        let hole = try LoopbackServer(tls: .make(), handler: DemoSites.gopher)
        let site = try LoopbackServer(tls: .make(), handler: DemoSites.web)
        let places =
            [
                capsule.place + "/about", "gophers://127.0.0.1:\(hole.port)/0/about.txt",
            ] + (hasHTTP ? ["https://127.0.0.1:\(site.port)/about"] : [])
        for urls in [places, places.reversed()] + places.map({ [$0] }) {
            let result = try run(change, ["get", "-k", "--json"] + urls)
            let records = try Records(result.output).terminal
            #expect(result.status == 0 && records.count == urls.count, "\(result.errors)")
            for record in records {
                #expect(record["tls"]?["version"]?.string == "TLSv1.3", "\(record)")
                #expect(record["body"]?["sha256"]?.string?.count == 64, "\(record)")
            }
        }
        let made = try run(change, ["identity", "new", "alice", capsule.place + "/"])
        #expect(made.status == 0, "\(made.errors)")
        let version = try Records(try run(change, ["--version", "--json"]).output).all[0]
        #expect(version["openssl"]?.string != nil)
        #expect(version["libcurl"]?.string != nil || !hasHTTP)
        if changes.contains(Self.alone) {
            #expect(version["openssl"]?.string?.first != here?.first)
        }
    }

    /// What is missing, a command that needs it, and how the message goes on; the package.
    private static let missing: [([String], [String], String, String)] = [
        (
            ["libcrypto.so*"], ["get", "gemini://127.0.0.1/"],
            "TLS needs OpenSSL 3 or 4: libcrypto.so.3: ", "libssl3 or libssl4"
        ),
        (
            ["libssl.so*"], ["get", "gophers://127.0.0.1/"],
            "TLS needs OpenSSL 3 or 4: libssl.so.3: ", "libssl3 or libssl4"
        ),
        (
            ["libcrypto.so*"], ["shard", "2", "/dev/null"],
            "hashing needs OpenSSL 3 or 4: libcrypto.so.3: ", "libssl3 or libssl4"
        ),
        (
            ["libcurl*"], ["get", "http://127.0.0.1/"],
            "HTTP needs libcurl: libcurl.so.4: ", "libcurl4"
        ),
        // One that libcurl needs.
        (
            ["libnghttp2*"], ["get", "https://127.0.0.1/"],
            "HTTP needs libcurl: libnghttp2.so.14: ", "libcurl4"
        ),
        (
            ["libz.so*"], ["get", "--warc", "a.warc.gz", "gopher://127.0.0.1/"],
            "compression needs zlib: libz.so.1: ", "zlib1g"
        ),
        (
            ["libidn2*"], ["get", "gopher://ünï.test/"],
            "an international host name needs libidn2: libidn2.so.0: ",
            "libidn2-0, or write the host as xn--…"
        ),
    ]

    @Test(arguments: missing)
    func aMissingLibraryIsNamedWithItsPackage(
        _ names: [String], _ command: [String], _ words: String, _ packages: String
    ) throws {
        let result = try run("rm \(names.joined(separator: " "))", command)
        #expect(result.status == 4)
        // Debian sid's OpenSSL is linked with zlib.
        if result.errors.contains("OpenSSL 3 or 4: libz.so.1: cannot open") { return }
        #expect(
            result.errors.hasSuffix(
                "\(words)cannot open shared object file: No such file or directory\n"
                    + "hint: install the package \(packages)\n"), "\(result.errors)")
    }

    /// Whoever asks authorities says that there are none.
    @Test func withoutAuthoritiesTheirPackageIsNamed() throws {
        let (capsule, site) = (try Capsule(), try LoopbackServer(tls: .make()) { _ in })
        let commands = [
            ["get", "https://127.0.0.1:\(site.port)/"], ["get", "--trust", "ca", capsule.place],
            ["get", "--trust", "both", capsule.place],
            ["get", "-x", "https://127.0.0.1:\(capsule.server.port)", "gopher://a.test/"],
        ]
        for command in commands {
            let shell = """
                exec unshare --map-root-user --mount sh -ec '
                    for place in /etc/ssl /etc/pki /etc/ca-certificates /usr/lib/ssl \
                        /var/lib/ca-certificates; do
                        [ ! -d $place ] || mount -t tmpfs none $place
                    done
                    exec "$@"' sh "$@"
                """
            let result = try Smallweb().run(command, shell: shell)
            #expect(result.status == 60 && result.errors.contains("authorit"), "\(result.errors)")
            #expect(result.errors.contains("install the package ca-certificates"))
        }
    }

    /// - Parameter change: Shell commands.
    private func run(_ change: String, _ arguments: [String]) throws -> Smallweb.Result {
        var smallweb = Smallweb()
        smallweb.environment["change"] = change
        return try smallweb.run(arguments, shell: Self.elsewhere)
    }
}
