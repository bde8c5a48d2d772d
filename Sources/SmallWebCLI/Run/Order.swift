// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// A request from one operand or one line of a list.
final class Order {
    var subject: RecordSubject
    var output: String?
    private(set) var upload: InputSource.Origin?
    /// Changes of the run's settings for this request.
    private(set) var changes: [@Sendable (inout Settings) -> Void] = []
    /// True if `changes` affect connections or redirects.
    private(set) var changesFetcher = false
    var problem: FetchError?
    /// Comparable form of the line's id; `nil` without one.
    private(set) var key: String?
    /// Key of the requests to cancel, for a line that is not a request itself.
    private(set) var cancels: String?
    /// True for a list that cannot be read: its remaining requests are unknown.
    var isUnreadList = false

    var url: String? { subject.url }

    /// A failed request.
    ///
    /// - Parameter line: Line number in a list.
    init(problem: FetchError, line: Int? = nil) {
        subject = RecordSubject()
        subject.line = line
        self.problem = problem
    }

    init(operand: String) {
        subject = RecordSubject(url: operand)
        guard operand.hasSystemEscapes else { return }
        let line = RequestLine(url: operand.systemBytes)
        (subject, problem) = (line.subject, line.problem)
        subject.url = operand.withoutSystemEscapes
    }

    /// A line of a list. Malformed lines become orders with a ``problem``.
    init(line bytes: ArraySlice<UInt8>, number: Int) {
        let line = RequestLine(bytes)
        subject = line.subject
        subject.line = number
        (key, cancels) = (line.key, line.cancels)
        do throws(FetchError) {
            for member in line.members { try take(member.value, named: "\"\(member.name)\"") }
            if let problem = line.problem { throw problem }
        } catch {
            problem = FetchError(
                error.outcome, .input, "line \(number): \(error.message)", hint: error.advice)
        }
    }

    private func change(_ change: @escaping @Sendable (inout Settings) -> Void) {
        changes.append(change)
    }

    /// - Parameter name: Name of the member for messages.
    private func take(
        _ member: RequestLine.Member, named name: String
    ) throws(FetchError) {
        switch member {
        case .put(let data): upload = data
        case .output(let path): output = path
        case .data(let data):
            change { settings in
                settings.fetch.input = data
                settings.fetch.isInputSecret = data.isSecret
                settings.invocation.given.append("data")
            }
        case .headers(let fields):
            for field in fields { try Self.check(field, as: "header") }
            change { settings in
                for line in fields { settings.fetch.options.append(line, to: "header") }
                if !fields.isEmpty { settings.invocation.given.append("header") }
            }
        case .method(let method):
            try Self.check(method, as: "request")
            change { settings in
                settings.fetch.options["request"] = .text(method)
                settings.invocation.given.append("request")
            }
        case .maxTime(let text):
            let seconds = try OptionValue.duration(text, name)
            change { $0.fetch.totalSeconds = seconds }
        case .maxFilesize(let text):
            let size = try OptionValue.size(text, name)
            change { $0.fetch.bodyBytesMax = size }
        case .body(let text):
            let form: RecordOptions.BodyForm = try OptionValue.choice(text, name)
            change { $0.records.options.body = form }
        case .mime(let type):
            try Request.Option.uploadType.check(type)
            change { settings in
                settings.fetch.options["mime"] = .text(type)
                settings.invocation.given.append("mime")
            }
        case .tokenFile(let path):
            change { settings in
                settings.fetch.options["token"] = nil
                settings.fetch.secretFiles["token"] = path
                settings.invocation.given.append("token")
            }
        case .maxRedirects, .identity, .trust, .pin, .proxy: try takeForFetcher(member, named: name)
        }
    }

    private func takeForFetcher(
        _ member: RequestLine.Member, named name: String
    ) throws(FetchError) {
        changesFetcher = true
        switch member {
        case .maxRedirects(let text):
            let limit = try OptionValue.count(text, name)
            change { $0.fetch.redirects.limit = limit }
        case .proxy(let url):
            let proxy: ProxySettings.Source = url.isEmpty ? .none : .proxy(try Proxy(parsing: url))
            change { settings in
                settings.connection.proxies.source = proxy
                settings.invocation.given.append("proxy")
            }
        case .identity(let identity):
            change { settings in
                settings.connection.identityName = identity
                settings.connection.certificateFile = nil
                settings.invocation.given.append("identity")
            }
        case .trust(let text):
            let policy = try OptionValue.trust(text, name)
            change { settings in
                settings.connection.trust = policy
                settings.invocation.given.append("trust")
                settings.connection.skipsTrust = false
            }
        case .pin(let text):
            let pin = try OptionValue.sha256(text, name)
            change { settings in
                settings.connection.pin = pin
                settings.invocation.given.append("pin")
                settings.connection.skipsTrust = false
            }
        default: break
        }
    }

    /// Checks the value of an option that a plugin declares.
    private static func check(_ value: String, as key: String) throws(FetchError) {
        for handler in Registry.builtIn.handlers {
            try handler.options.first { $0.key == key }?.check(value)
        }
    }
}
