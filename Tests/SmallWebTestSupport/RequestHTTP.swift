// SPDX-License-Identifier: MIT
public import SmallWebCore

extension Request {
    /// The options in the form of the HTTP engine, for tests to set.
    public var http: HTTPOptions {
        get { HTTPOptions(self) }
        set {
            self.options = Request.Options()
            for field in newValue.fields {
                self.options.append("\(field.name): \(field.value)", to: "header")
            }
            self.options["request"] = newValue.method.map { .text($0) }
            self.input = newValue.body
            self.resumeOffset = newValue.resumeOffset
        }
    }
}
