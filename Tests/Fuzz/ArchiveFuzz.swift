// SPDX-License-Identifier: MIT
@testable internal import SmallWebArchive
internal import SmallWebCore

/// Records do not depend on the pieces, no block is longer than its header says, and a record that
/// is written again reads the same.
@Sendable func warc(_ input: [UInt8]) {
    let whole = records([input[...]])
    check(whole == records(Pieces(of: input).pieces), "the records depend on the pieces")
    for record in whole.records {
        check(record.block.count <= record.header.blockBytes, "a block longer than it may be")
        check(record.header.version.hasPrefix("1."), "another version")
        _ = (record.header.target, record.header.contentType)
        _ = ["warc-block-digest", "warc-payload-digest"].map {
            record.header.digest($0)
        }
        // Our own extensions that a record may hold.
        _ = Turns(record.block).available(afterSending: 3, of: record.block.count)
        _ = CaptureFacts(record.block).handshake([])
        _ = FetchError(warcFields: record.block)
        _ = Certificates.decode(record.block)
    }
}

private struct Found: Equatable {
    struct Record: Equatable {
        let header: WarcHeader
        var block: [UInt8]
    }
    var records: [Record] = []
    var isBroken = false
}

private func records(_ pieces: [ArraySlice<UInt8>]) -> Found {
    var (decoder, found) = (WarcDecoder(), Found())
    do throws(Malformed) {
        for piece in pieces {
            var rest = piece
            while let element = try decoder.next(&rest) {
                switch element {
                case .header(let header): found.records.append(.init(header: header, block: []))
                case .block(let bytes): found.records[found.records.count - 1].block += bytes
                case .end: break
                }
            }
        }
    } catch {
        found.isBroken = true
    }
    return found
}

/// Members of a gzip file: the output does not depend on the pieces.
@Sendable func gzipMembers(_ input: [UInt8]) {
    let whole = members([input[...]])
    check(whole == members(Pieces(of: input).pieces), "the members depend on the pieces")
}

private func members(_ pieces: [ArraySlice<UInt8>]) -> [[UInt8]] {
    guard let members = try? Inflater(.gzip) else { return [] }
    var found: [[UInt8]] = []
    do throws(FetchError) {
        for piece in pieces where !piece.isEmpty {
            var (rest, bytes) = (piece, ArraySlice<UInt8>())
            repeat {
                if members.isBetweenStreams {
                    members.reset()
                    found.append([])
                }
                bytes = try members.inflate(&rest)
                found[found.count - 1] += bytes.prefix(1 << 20)
            } while !rest.isEmpty || !bytes.isEmpty && !members.isBetweenStreams
        }
    } catch {
        // The output before the fault depends on the size of the pieces.
        return Array(found.dropLast())
    }
    return found
}

/// A body in chunks: the same in any pieces, and never more than came.
@Sendable func chunkedBody(_ input: [UInt8]) {
    let body = { (pieces: [ArraySlice<UInt8>]) -> [UInt8]? in
        var (chunks, body) = (ChunkedBody(), [UInt8]())
        do throws(Malformed) {
            for piece in pieces {
                var rest = piece
                while let more = try chunks.next(&rest) { body += more }
            }
        } catch {
            return nil
        }
        return body
    }
    let whole = body([input[...]])
    check(whole == body(Pieces(of: input).pieces), "the body depends on the pieces")
    check(whole?.count ?? 0 <= input.count, "more than came")
}
