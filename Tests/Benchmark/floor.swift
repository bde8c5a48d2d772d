// SPDX-License-Identifier: MIT
// The least cost of a fetch in Swift: the same as floor.c over gopher, for a path. Compared with
// floor.c it shows the cost of starting Swift's runtime, before the first line of a program.
//
//     floor-swift [PORT PATH]      body to stdout; without words it ends at once
import Glibc

guard CommandLine.arguments.count > 2 else { exit(0) }

var address = sockaddr_in()
address.sin_family = sa_family_t(AF_INET)
address.sin_port = in_port_t(CommandLine.arguments[1])!.bigEndian
address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
let status = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
}
guard status == 0 else { fatalError("connect") }
let request = CommandLine.arguments[2] + "\r\n"
guard send(socket, request, request.utf8.count, 0) == request.utf8.count else { fatalError("send") }
var buffer = [UInt8](repeating: 0, count: 65536)
while true {
    let count = recv(socket, &buffer, buffer.count, 0)
    guard count > 0 else { exit(count == 0 ? 0 : 1) }
    guard write(STDOUT_FILENO, buffer, count) == count else { exit(1) }
}
