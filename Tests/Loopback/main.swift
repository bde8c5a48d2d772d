// SPDX-License-Identifier: MIT
// Small servers on ports that the system picks, until stdin ends or a signal comes:
//
//     smallweb-loopback [--only NAME,NAME…]
//
// One line per server, `gemini 127.0.0.1 40123`, then `ready`.
internal import Glibc
internal import SmallWebTestSupport

func announce(_ line: String) {
    print(line)
    fflush(nil)
}

func fail(_ message: String) -> Never {
    let line = Array("smallweb-loopback: \(message)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(2)
}

// For the tests: runs a program as a plugin, and stays until it is killed.
if CommandLine.arguments.dropFirst().first == "--contain" { contain(CommandLine.arguments) }

let known = [
    "gemini", "gopher", "gophers", "finger", "nex", "spartan", "titan", "git", "http", "https",
]
var wanted = known
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    guard argument == "--only", let list = arguments.popFirst() else {
        fail("the only option is --only NAME,NAME…; the servers end with standard input")
    }
    wanted = list.split(separator: ",").map(String.init)
    for name in wanted where !known.contains(name) { fail("no server is called \(name)") }
}

do {
    let certificate = TestCertificate.make()
    var servers: [String: LoopbackServer] = [:]
    // Gopher first: the capsule has a redirect to it.
    if wanted.contains("gopher") {
        servers["gopher"] = try LoopbackServer(handler: DemoSites.gopher)
    }
    if wanted.contains("gophers") {
        servers["gophers"] = try LoopbackServer(tls: certificate, handler: DemoSites.gopher)
    }
    if wanted.contains("finger") {
        servers["finger"] = try LoopbackServer(handler: DemoSites.finger)
    }
    if wanted.contains("nex") { servers["nex"] = try LoopbackServer(handler: DemoSites.nex) }
    if wanted.contains("spartan") {
        servers["spartan"] = try LoopbackServer(handler: DemoSites.spartan)
    }
    if wanted.contains("gemini") {
        let elsewhere = "gopher://127.0.0.1:\(servers["gopher"]?.port ?? 70)/0/about.txt"
        servers["gemini"] = try LoopbackServer(
            tls: certificate, handler: DemoSites.gemini(elsewhere: elsewhere))
    }
    if wanted.contains("git") { servers["git"] = try LoopbackServer(handler: DemoSites.git) }
    if wanted.contains("titan") {
        servers["titan"] = try LoopbackServer(tls: certificate, handler: DemoSites.titan)
    }
    if wanted.contains("http") { servers["http"] = try LoopbackServer(handler: DemoSites.web) }
    if wanted.contains("https") {
        servers["https"] = try LoopbackServer(tls: certificate, handler: DemoSites.web)
    }
    for name in known {
        if let server = servers[name] { announce("\(name) \(server.address) \(server.port)") }
    }
    announce("ready")
    var byte: UInt8 = 0
    while true {
        let count = read(STDIN_FILENO, &byte, 1)
        if count == 0 || count < 0 && errno != EINTR { break }
    }
} catch {
    fail("cannot listen: \(error)")
}
// Connections that are still open need not be waited for.
exit(0)
