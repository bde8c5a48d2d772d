// SPDX-License-Identifier: MIT
public import SmallWebCore

extension Request {
    /// The options in the form of the HTTP engine, for tests to set.
    public var http: HTTPOptions {
        get { HTTPOptions(self) }
        set {
            options = Request.Options()
            for field in newValue.fields {
                options.append("\(field.name): \(field.value)", to: "header")
            }
            options["request"] = newValue.method.map { .text($0) }
            input = newValue.body
            resumeOffset = newValue.resumeOffset
        }
    }
}
