// SPDX-License-Identifier: MIT
@testable internal import SmallWebCore
internal import Testing

/// Questions that a request alone answers: the wanted part of a reply, and all that goes on.
@Suite struct RequestTests {
    private struct Trial: ProtocolHandler {
        let schemes: [Scheme]

        func fetch(
            _ request: Request, dialer: any Dialer, emit: Emit
        ) async throws(FetchError) -> Completeness { .complete }
    }

    private static let scheme = Scheme(
        "trial", plugin: "trial", port: 1, transport: .tcp, summary: "")

    private func request(_ url: String = "trial://h/") throws -> Request {
        Request(uri: try URI(parsing: url), scheme: Self.scheme)
    }

    @Test(arguments: Head.Class.allCases, [nil, "text/plain", "image/png"])
    func aBodyIsWantedByOneRule(_ replyClass: Head.Class, _ type: String?) throws {
        let head = Head(replyClass, mediaType: type.flatMap { MediaType(parsing: $0) })
        var request = try request()
        let isSuccess = replyClass == .success
        #expect(request.wants(head) == (isSuccess ? .body : .refusal))
        request.keepsRefusals = true
        #expect(request.wants(head) == .body && request.wants(nil) == .body)
        request.mediaTypes = ["image/*"]
        #expect(request.wants(head) == (isSuccess && type != "image/png" ? .otherType : .body))
        request.keepsRefusals = false
        #expect(request.wants(head).isHeadEnough == (isSuccess && type != "image/png"))
        request.wantsHeadAlone = true
        #expect(request.wants(head) == .headAlone && request.wants(nil).isHeadEnough)
    }

    /// A handler that says one alone need not know of the other.
    @Test(arguments: [false, true], [false, true])
    func aPageThatIsGoneIsMissing(_ isGone: Bool, _ isMissing: Bool) {
        var (head, other) = (Head(.permanentFailure), Head(.permanentFailure))
        (head.isGone, head.isMissing) = (isGone, isMissing)
        (other.isMissing, other.isGone) = (isMissing, isGone)
        #expect(head == other && head.isGone == isGone)
        #expect(head.isMissing == (isGone || isMissing))
    }

    /// The members of a request, by their names.
    private func members(_ request: Request) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: Mirror(reflecting: request.parts.value).children.map {
                ($0.label ?? "", String(reflecting: $0.value))
            })
    }

    @Test func aRedirectTakesAllButWhatIsForOnePlace() throws {
        var request = try request()
        let plain = members(request)
        request.programSecrets = [[1]]
        (request.wantsRawBody, request.wantsHeadAlone, request.keepsRefusals) = (true, true, true)
        (request.mediaTypes, request.allowsEmptyReply) = (["text/*"], true)
        (request.resumeOffset, request.bodyState, request.wantsItems) = (1, "state", false)
        (request.referencePatterns, request.limits.totalSeconds) = (["v*"], 3)
        request.validator = Request.Validator("tag", of: request.uri)
        request.mayHaveOtherOptions = true
        (request.prefersText, request.contentType) = (true, MediaType("text/html"))
        request.base = request.uri
        (request.input, request.isInputSecret) = ([1], true)
        request.options["key"] = .secret([1])
        request.upload = Request.Upload([1])
        let full = members(request)
        let next = try self.request("trial://other/")
        let onward = members(request.onward(to: next, with: .init(Request.Options())))
        let left: Set = ["uri", "input", "isInputSecret", "options", "upload"]
        #expect(plain.count > 12)
        for (name, value) in full where name != "scheme" {
            // A member that is not set above would prove nothing.
            #expect((plain[name] != value) == (name != "uri"), "\(name)")
            #expect((onward[name] == value) == !left.contains(name), "\(name)")
        }
        for name in left where name != "uri" { #expect(onward[name] == plain[name], "\(name)") }
        var carried = Request.Carried(request.options)
        carried.input = [1]
        let same = request.onward(to: next, with: carried)
        #expect(same.isInputSecret && same.input == [1] && same.options == request.options)
        #expect(same.uri == next.uri)
    }

    @Test func aPageIsForAllUnlessSomethingIsPersonal() throws {
        let handler = Trial(schemes: [Self.scheme])
        #expect(handler.isSafe(try request(), hasIdentity: false))
        #expect(!handler.isSafe(try request(), hasIdentity: true))
        #expect(!handler.isSafe(try request("trial://me:word@h/"), hasIdentity: false))
        let changes: [(inout Request) -> Void] = [
            { $0.input = [1] }, { $0.upload = Request.Upload([1]) },
            { $0.options["key"] = .secret([1]) }, { $0.programSecrets = [[1]] },
        ]
        for change in changes {
            var request = try request()
            change(&request)
            #expect(!handler.isSafe(request, hasIdentity: false))
        }
    }
}
