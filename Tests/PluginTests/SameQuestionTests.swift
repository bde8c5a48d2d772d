// SPDX-License-Identifier: MIT
internal import SmallWebTestSupport
internal import SmallWebTesting
internal import Testing

/// The kind of output does not change the request: a reply recorded for a terminal, a pipe or
/// records answers the others.
@Suite struct SameQuestionTests {
    @Test(arguments: WireTests.dialled)
    func itemsDecideNothingThatIsSent(_ wire: WireCase) async {
        var wire = wire
        var sent: [[UInt8]] = []
        for wantsItems in [true, false] {
            wire.wantsItems = wantsItems
            sent.append(await play(wire, WireTests.handler(of: wire)).sent)
        }
        #expect(sent[0] == sent[1])
    }
}
