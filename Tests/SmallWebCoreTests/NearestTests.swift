// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import Testing

@Suite struct NearestTests {
    static let names = ["README.md", "LICENSE", "Sources", "Package.swift", "a", "übung"]

    @Test(arguments: [
        ("readme.md", "README.md"), ("README", "README.md"), ("REAMDE.md", "README.md"),
        ("License", "LICENSE"), ("LICENCE", "LICENSE"), ("source", "Sources"),
        ("Pac", "Package.swift"), ("b", "a"), ("A", "a"), ("ubung", "übung"),
        ("Pakage.swft", "Package.swift"),
    ])
    func aMistypedNameIsRecognized(_ typed: String, _ name: String) {
        #expect(Nearest.name(to: typed, among: Self.names) == name)
    }

    @Test(arguments: ["docs", "Pa", "LIZENZEN", "", "README.md.orig.old"])
    func anythingElseIsNot(_ typed: String) {
        #expect(Nearest.name(to: typed, among: Self.names.filter { $0 != "a" }) == nil)
    }

    @Test func aServersNamesAreBounded() {
        let long = String(repeating: "x", count: 101)
        #expect(Nearest.name(to: long, among: [long]) == nil)
        let many = [String](repeating: "y", count: 10_000) + ["right"]
        #expect(Nearest.name(to: "rihgt", among: many) == nil)
        #expect(Nearest.name(to: "rihgt", among: many.dropFirst()) == "right")
    }
}
