// SPDX-License-Identifier: MIT
@testable internal import SmallWebCore
internal import Testing

/// Secrets are masked in every form, at every split.
@Suite struct SecretMaskTests {
    private static let secret = Array("h@nter/2?+".utf8)

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func masksBytesAsTheyAreAndPercentEncoded() {
        let mask = SecretMask([Self.secret])
        #expect(mask.masked("PASS h@nter/2?+\r\n") == "PASS ***\r\n")
        #expect(mask.masked("a=h%40nter%2F2%3f%2B&b") == "a=***&b")
        #expect(mask.masked("%68%40%6e%74%65%72%2f%32%3F%2b") == "***")
        #expect(mask.masked("h@nte h@nter/2?") == "h@nte h@nter/2?")
        #expect(SecretMask([]).masked("x") == "x" && SecretMask([[]]).isEmpty)
    }

    /// A blank as it is, as `%20`, as forms have it, and beside characters in another encoding.
    @Test func masksABlankInEachForm() {
        let mask = SecretMask([Array(" my pass+w\u{F6}rd ".utf8)])
        let forms = [
            " my pass+w\u{F6}rd ", "%20my%20pass%2Bw%C3%B6rd%20", "+my+pass%2bw%c3%b6rd+",
            "+my%20pass+w\u{F6}rd ", "%20my pass%2Bw%c3%B6rd+",
        ]
        for form in forms {
            #expect(mask.masked("a=" + form + "&b") == "a=***&b")
            for cut in 0...form.utf8.count {
                var mask = mask
                let shown = mask.add(form.utf8.prefix(cut)) + mask.add(form.utf8.dropFirst(cut))
                #expect(text(shown + mask.finish()) == "***", "\(form) \(cut)")
            }
        }
        // A blank does not match the `+` of the secret.
        #expect(mask.masked("+my+pass w\u{F6}rd+") == "+my+pass w\u{F6}rd+")
    }

    /// With any bytes before and after it, in both alphabets, and in lines of 8.
    @Test func masksBase64AtAnyAlignment() {
        let mask = SecretMask([Self.secret])
        for before in 0...5 {
            for after in 0...3 {
                let whole =
                    [UInt8](repeating: 0x78, count: before) + Self.secret
                    + [UInt8](repeating: 0x79, count: after)
                let encoded = Base64.encode(whole)
                let forURLs = String(encoded.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
                var wrapped = ""
                for (index, letter) in encoded.enumerated() {
                    if index > 0 && index % 8 == 0 { wrapped += "\r\n" }
                    wrapped.append(letter)
                }
                for form in [encoded, forURLs, wrapped] {
                    let shown = mask.masked("AUTH " + form + "\r\n")
                    #expect(shown.contains("***"), "\(before) \(after) \(form): \(shown)")
                    let plain = shown.filter { !"\r\n".contains($0) }
                    let bare = plain.replacing("***", with: "").count
                    // No more than the letters that the bytes before it make.
                    #expect(bare <= 5 + (before * 4 + 2) / 3 + 8, "\(shown)")
                }
            }
        }
    }

    @Test func masksWhatComesInPieces() {
        let sent = Array("USER me\r\nPASS h@nter/2?+\r\nQUIT\r\n".utf8)
        for first in 0...sent.count {
            var mask = SecretMask([Self.secret])
            var shown = mask.add(sent[..<first])
            #expect(!text(shown).contains("h@"))
            shown += mask.add(sent[first...])
            shown += mask.finish()
            #expect(text(shown) == "USER me\r\nPASS ***\r\nQUIT\r\n")
        }
        var mask = SecretMask([Self.secret])
        var shown: [UInt8] = []
        for byte in sent { shown += mask.add([byte]) }
        #expect(text(shown + mask.finish()) == "USER me\r\nPASS ***\r\nQUIT\r\n")
        // A possible beginning of a secret is not shown either.
        #expect(mask.add(Array("x h@nte".utf8)) == Array("x ".utf8))
        #expect(text(mask.finish()) == "***")
    }

    @Test func theLongerOfTwoIsMaskedWhole() {
        let mask = SecretMask([Array("abc".utf8), Array("abcdef".utf8), Array("a".utf8)])
        #expect(mask.masked("abcdef abcde") == "*** ***de")
    }

    @Test func aRequestNamesItsSecrets() throws {
        let scheme = Scheme("trial", plugin: "trial", port: 1, transport: .tcp, summary: "")
        var request = Request(uri: try URI(parsing: "trial://me:p%40ss@h/"), scheme: scheme)
        request.options["key"] = .secret(Array("k".utf8))
        request.input = Array("typed".utf8)
        let known = Set(request.secretValues.map(text))
        #expect(known == ["k", "p%40ss", "p@ss"])
        request.isInputSecret = true
        #expect(Set(request.secretValues.map(text)) == ["k", "p%40ss", "p@ss", "typed"])
    }
}
