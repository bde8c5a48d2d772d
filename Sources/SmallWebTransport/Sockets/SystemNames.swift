// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

enum SystemNames {
    /// Answers of name servers: no such name, or no address of that family. Glibc keeps the last
    /// two constants private.
    private static let absences = [EAI_NONAME, -5, -9]

    static func lookUp(_ host: String, _ family: Resolver.Family) -> HostNames.Answer {
        var hints = addrinfo()
        hints.ai_family = family.number
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        let number = errno
        defer { if let list { freeaddrinfo(list) } }
        guard status == 0 else {
            let reason =
                status == EAI_SYSTEM
                ? SystemError(number: number).sentence : String(cString: gai_strerror(status))
            let error = FetchError(
                .resolve, .resolve, "cannot resolve \(host): \(reason)",
                hint: "check the spelling of the host and the network connection")
            return .init(result: .failure(error), isAbsence: absences.contains(status))
        }
        var addresses: [SocketAddress] = []
        var next = list
        while let info = next {
            if let address = SocketAddress(info.pointee) { addresses.append(address) }
            next = info.pointee.ai_next
        }
        guard addresses.isEmpty else { return .init(result: .success(addresses)) }
        let error = FetchError(.resolve, .resolve, "\(host) has no address")
        return .init(result: .failure(error), isAbsence: true)
    }
}
