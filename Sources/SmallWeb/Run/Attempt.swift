// SPDX-License-Identifier: MIT
package import SmallWebCore

/// What came of one attempt.
package enum Attempt: Sendable {
    case ended(Ending)
    case failed(FetchError)

    package var ending: Ending? { if case .ended(let ending) = self { ending } else { nil } }
    package var error: FetchError? { if case .failed(let error) = self { error } else { nil } }
    package var outcome: Outcome {
        switch self {
        case .ended(let ending): ending.outcome
        case .failed(let error): error.outcome
        }
    }
}
