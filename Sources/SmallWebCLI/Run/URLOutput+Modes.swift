// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension URLOutput {
    func sinks(to sink: BodySink, log: FetchLog) -> [any EventSink] {
        let output = settings.output
        let records = settings.records.areWanted ? recorder : nil
        let color = context.settings.messages.color
        var sinks: [any EventSink] = []
        let tag: [any EventSink] = output.tagFile.map { [TagFile(path: $0)] } ?? []
        if settings.fetch.wantsHeadAlone {
            let usesColor = Environment.usesColor(color, on: 1) && !sink.destination.isFile
            let head = HeadOutput(url: url, sink: sink, log: log, usesColor: usesColor)
            if records == nil || sink.destination.isFile { sinks.append(head) }
            return sinks + tag
        }
        if output.showsHeader && records == nil { sinks.append(HeaderOutput(sink: sink)) }
        let isPage = output.laysPagesOut && sink.destination == .standardOutput
        // Lazy, as it asks for the terminal's width: not needed for records and files.
        var style: PageStyle { PageStyle(output, color: color) }
        switch output.listing {
        case .links where records != nil && !sink.destination.isFile: break
        case .links:
            sinks.append(LinkList(to: sink, log: log, style, all: output.listsAll))
        case .refs where isPage:
            sinks.append(
                RefColumns(target: sink.target, usesColor: Environment.usesColor(color, on: 1)))
        case nil where isPage:
            if let page = output.page, page.isInSession {
                sinks.append(OpenedPage.Keeper(page, log))
            }
            sinks.append(page(to: sink.target, log, style))
        case nil where settings.rendersFiles && sink.destination.isFile:
            sinks.append(
                PageFile(
                    file: BodyOutput(sink: sink, log: log),
                    page: page(to: .file(sink), log, style)))
        default: sinks.append(BodyOutput(sink: sink, log: log))
        }
        sinks += tag
        if let links = records?.links {
            sinks.append(LinkList(links, log: log, all: output.listsAll))
        }
        if output.listing == .refs, History.isOn(context.settings.messages),
            let cache = RefCache(url, settings.fetch)
        {
            sinks.append(cache)
        }
        return sinks
    }

    /// A page laid out for the terminal, or as markup for other programs.
    private func page(to target: BodyTarget, _ log: FetchLog, _ style: PageStyle) -> TerminalBody {
        let isLaidOut = !settings.fetch.wantsRawBody
        let markup = isLaidOut ? settings.output.rendering.markup : nil
        return TerminalBody(
            to: target, log: log, style: style, isLaidOut: isLaidOut,
            page: markup == nil ? settings.output.page : nil, markup: markup)
    }
}
