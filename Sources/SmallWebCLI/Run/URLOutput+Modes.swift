// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension URLOutput {
    func sinks(to sink: BodySink, log: FetchLog) -> [any EventSink] {
        let output = settings.output
        let color = context.settings.messages.color
        var usesColor: Bool { Environment.usesColor(color, on: 1) && !plan.destination.isFile }
        // Lazy, as it asks for the terminal's width: not needed for records and files.
        var style: PageStyle { PageStyle(output, color: color, isSeen: plan.isSeen) }
        var sinks: [any EventSink] = plan.showsHeader ? [HeaderOutput(sink: sink)] : []
        // Before the page, which refuses the head of what cannot be shown.
        if let page = output.page, page.isInSession {
            sinks.append(OpenedPage.Keeper(page, log))
        }
        switch plan.form {
        case .head where plan.isInRecord, .links where plan.isInRecord: break
        case .head:
            sinks.append(HeadOutput(url: url, sink: sink, log: log, usesColor: usesColor))
        case .links:
            sinks.append(LinkList(to: sink, log: log, style, all: output.listsAll))
        case .refs where plan.isLaidOut:
            sinks.append(RefColumns(target: sink.target, usesColor: usesColor))
        case .page where plan.destination.isFile:
            sinks.append(
                PageFile(
                    file: BodyOutput(sink: sink, log: log),
                    page: page(to: .file(sink), log, style)))
        case .page where plan.isInRecord || settings.records.slice != nil:
            if let body = recorder?.body { sinks.append(page(to: .record(body), log, style)) }
        case .page:
            sinks.append(page(to: sink.target, log, style))
        // The recorder keeps the part.
        case .body where settings.records.slice != nil: break
        case .body, .refs, .records: sinks.append(BodyOutput(sink: sink, log: log))
        }
        if let path = output.tagFile { sinks.append(TagFile(path: path)) }
        if plan.recordsLinks, let links = recorder?.links {
            sinks.append(LinkList(links, log: log, all: output.listsAll))
        }
        if plan.form == .refs, History.isOn(context.settings.messages),
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
