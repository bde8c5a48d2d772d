// SPDX-License-Identifier: MIT
public import SmallWebCore

extension Request {
    /// What its options mean to the HTTP engine, to be set as a test likes.
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
