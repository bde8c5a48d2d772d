// SPDX-License-Identifier: MIT
internal import SmallWebText

/// The elements that a reader knows; all others are within lines of text.
enum HTMLElement: String, CaseIterable, Sendable {
    case other = ""
    case a, address, annotation = "annotation-xml", area, article, aside, audio, b, base, basefont
    case bgsound, big, blockquote, body, br, button, caption, center, code, col, colgroup, datalist
    case dd, desc, details, dialog, dir, div, dl, dt, em, embed, fieldset, figcaption, figure,
        footer
    case foreignobject, form, frame, frameset, h1, h2, h3, h4, h5, h6, head, header, hgroup, hr
    case html, i, iframe, img, input, keygen, legend, li, link, listing, main, math, menu, meta, mi
    case mn, mo, ms, mtext, nav, nobr, noembed, noframes, object, ol, optgroup, option, p, param
    case plaintext, pre, q, rb, rp, rt, rtc, ruby, s, script, search, section, select, small, source
    case span, strike, strong, style, sub, summary, sup, svg, table, tbody, td, template, textarea
    case tfoot, th, thead, title, tr, track, tt, u, ul, `var`, video, wbr, xmp

    /// Names by their hashes, each at the first free place behind it.
    private static let slots = {
        var table = [(key: UInt64, element: HTMLElement)](
            repeating: (0, .other), count: 512)
        let names = allCases.dropFirst().map { ($0.rawValue, $0) } + [("image", .img)]
        for (name, element) in names {
            let key = key(Array(name.utf8)[...])
            var place = place(of: key)
            while table[place].key != 0 { place = (place + 1) % 512 }
            table[place] = (key, element)
        }
        return table
    }()

    private static func place(of key: UInt64) -> Int {
        Int((key &* 0x9E37_79B9_7F4A_7C15) >> 55)
    }

    /// A name of up to 8 bytes as a number; of a longer one its last bytes and its length.
    private static func key(_ name: ArraySlice<UInt8>) -> UInt64 {
        let key = name.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return name.count > 8 ? key ^ UInt64(name.count) << 59 : key
    }

    /// The element of a name in lower case.
    init(_ name: ArraySlice<UInt8>) {
        let key = Self.key(name)
        self = Self.slots.withUnsafeBufferPointer { table in
            var place = Self.place(of: key)
            while table[place].key != key {
                if table[place].key == 0 { return .other }
                place = (place + 1) % 512
            }
            let found = table[place].element
            let isNamed = name.count <= 8 || name.elementsEqual(found.rawValue.utf8)
            return isNamed ? found : .other
        }
    }

    /// Elements without an end.
    var isVoid: Bool {
        switch self {
        case .area, .base, .basefont, .bgsound, .br, .col, .embed, .frame, .hr, .img, .input,
            .keygen, .link, .meta, .param, .source, .track, .wbr:
            true
        default: false
        }
    }

    /// Elements that end a paragraph, but for those with a meaning of their own.
    var isBox: Bool {
        switch self {
        case .address, .article, .aside, .center, .details, .dialog, .div, .fieldset, .figcaption,
            .figure, .footer, .header, .hgroup, .main, .nav, .search, .section, .summary:
            true
        default: false
        }
    }

    /// Elements that begin and end a block, and are within none of its kind.
    var isBreak: Bool {
        switch self {
        case .p, .form, .dt, .legend, .option, .optgroup, .body, .html, .head, .frameset, .colgroup:
            true
        default: false
        }
    }

    var isList: Bool { self == .ul || self == .ol || self == .dl || self == .menu || self == .dir }
    var isItem: Bool { self == .li || self == .dd }
    var isCell: Bool { self == .td || self == .th }
    var isPreformatted: Bool {
        self == .pre || self == .textarea || self == .xmp || self == .plaintext || self == .listing
    }

    /// The level of a heading.
    var level: Int? {
        switch self {
        case .h1: 1
        case .h2: 2
        case .h3: 3
        case .h4: 4
        case .h5: 5
        case .h6: 6
        default: nil
        }
    }

    /// The way to read the text of an element of HTML.
    var mode: HTMLTokenizerMode {
        switch self {
        case .title, .textarea: .rcdata
        case .style, .xmp, .iframe, .noembed, .noframes: .rawtext
        case .script: .script
        case .plaintext: .plaintext
        default: .data
        }
    }

    /// Elements that are not shown, whatever their attributes.
    var isHidden: Bool {
        switch self {
        case .script, .style, .template, .svg, .math, .select, .datalist, .iframe, .noembed,
            .noframes, .rp, .title:
            true
        default: false
        }
    }

    /// Elements of HTML whose start ends those of SVG and MathML.
    var leavesForeign: Bool {
        switch self {
        case .b, .big, .blockquote, .body, .br, .center, .code, .dd, .div, .dl, .dt, .em, .embed,
            .h1, .h2, .h3, .h4, .h5, .h6, .head, .hr, .i, .img, .li, .listing, .menu, .meta, .nobr,
            .ol, .p, .pre, .ruby, .s, .small, .span, .strong, .strike, .sub, .sup, .table, .tt, .u,
            .ul, .var:
            true
        default: false
        }
    }

    /// Elements of SVG and MathML whose content is HTML.
    var isIntegration: Bool {
        switch self {
        case .foreignobject, .desc, .title, .annotation, .mi, .mo, .mn, .ms, .mtext: true
        default: false
        }
    }

    /// Elements whose unmatched end tag ends whatever is open within them.
    var isEnclosing: Bool {
        isBox || isList || isItem || isCell || isPreformatted || level != nil
            || [
                .blockquote, .body, .html, .table, .tr, .tbody, .thead, .tfoot, .caption, .dt,
                .form,
                .select, .object, .button,
            ].contains(self)
    }
}
