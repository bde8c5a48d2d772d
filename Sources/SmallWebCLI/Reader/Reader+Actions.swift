// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

extension Reader {
    // MARK: Files and bookmarks

    func save(_ opened: OpenedPage) throws(FetchError) {
        guard let path = askForFile(opened) else { return }
        do throws(FetchError) {
            let file = try FileOutput(path, clash: .number, createsDirectories: false)
            try opened.body.read { bytes throws(FetchError) in try file.write(bytes) }
            try file.commit()
            let cut = opened.outcome == .truncated ? ", which was cut off" : ""
            messages.answer(["saved as \(file.path)\(cut)"])
        } catch {
            var error = error
            if error.errnoName == "ENOENT" { error.hint = "make its directory first" }
            throw error
        }
    }

    /// - Returns: The name of a file, which may exist; `nil` if the user cancels.
    private func askForFile(_ opened: OpenedPage) -> String? {
        let name = opened.origin.map { FileName.name(for: $0, head: opened.head) } ?? "index"
        guard let typed = keyboard.ask("save as [\(name)]:", openers: nil) else { return nil }
        let path = UserFiles.withHome(typed.isEmpty ? name : typed)
        guard fileKind(path) == S_IFDIR else { return path }
        return path.hasSuffix("/") ? path + name : "\(path)/\(name)"
    }

    func bookmark(_ opened: OpenedPage) throws(FetchError) {
        guard var uri = opened.uri else { return }
        // Passwords must not be stored in the file.
        if uri.userinfo?.contains(":") ?? false { uri.userinfo = nil }
        let url = uri.description
        if let known = try Bookmarks.all().first(where: { $0.url == url }) {
            let title = known.title.isEmpty ? "" : " (\(known.title))"
            return messages.answer(["\(url) is bookmarked already\(title)"])
        }
        try Bookmarks.add(url, title: opened.title)
        messages.answer(["bookmarked \(url)" + (opened.title.isEmpty ? "" : " (\(opened.title))")])
    }

    // MARK: Pages that cannot be shown

    /// Offers alternatives for a page that could not be shown, if there are any: choosing an
    /// identity, saving the page or opening the URL with another program.
    mutating func offerHelp(
        _ target: PageView.Target, _ opened: OpenedPage, _ move: Move
    ) throws(FetchError) {
        let asksForIdentity = status == Outcome.needsIdentity.exitStatus
        let isUnknown = status == Outcome.unsupportedScheme.exitStatus
        guard asksForIdentity || opened.isRefused || isUnknown else { return }
        let url = opened.uri?.description ?? target.url
        let offers: [(key: String, meaning: String)] =
            (asksForIdentity ? [("i", "choose or make an identity")] : [])
            + (opened.isRefused ? [("s", "save it")] : [])
            + (asksForIdentity ? [] : [("x", "open it with xdg-open")])
            + (page == nil ? [] : [("b", "back to the page")]) + [("q", "quit")]
        let question = offers.map { "\($0.key) \($0.meaning)" }.joined(separator: ", ") + ":"
        while true {
            let answer = keyboard.ask(question, openers: page == nil ? "" : "g") ?? "q"
            guard offers.contains(where: { $0.key == answer }) else {
                // The URL may be mistyped; a new one may be relative to the current page.
                if let page, case .go = ReaderCommand(parsing: answer) {
                    return attempt { reader throws(FetchError) in
                        try reader.perform(ReaderCommand(parsing: answer), page.opened)
                    }
                }
                messages.error(nil, .usage, "unknown key \"\(answer)\"", hint: nil)
                continue
            }
            var isSettled = false
            attempt { reader throws(FetchError) in
                isSettled = try reader.help(answer, url, target, opened, move)
            }
            if isSettled { return }
        }
    }

    /// - Returns: True to stop asking.
    private mutating func help(
        _ key: String, _ url: String, _ target: PageView.Target, _ opened: OpenedPage,
        _ move: Move
    ) throws(FetchError) -> Bool {
        switch key {
        case "i":
            guard try chooseIdentity(for: url) else { return false }
            try visit(target, move)
        case "s":
            guard let path = askForFile(opened) else { return false }
            try fetch(target.url, to: path)
            return status == 0
        case "x":
            try HandOver.open(url)
            status = 0
        case "q": isDone = true
        default: break
        }
        return true
    }

    // MARK: Identities

    /// Binds a chosen or new identity to the URL.
    ///
    /// - Returns: True if one was chosen.
    /// - Throws: `bad-url` for a scheme without identities; errors of the store.
    mutating func chooseIdentity(for url: String) throws(FetchError) -> Bool {
        let registry = try settings.registry()
        let scope = try Identities.Scope(url, in: registry)
        let store = try IdentityStore(registry)
        let (names, bindings) = (try store.names(), try store.bindings())
        messages.answer(
            names.enumerated().map { index, name in
                let places = bindings.scopes(of: name).map(\.description)
                return "[\(index + 1)] \(name)  \(places.joined(separator: " "))"
            })
        let question = (names.isEmpty ? "" : "identity 1-\(names.count), ") + "n a new one, b back:"
        while let answer = keyboard.ask(question, openers: ReaderCommand.digits), answer != "b" {
            var chosen: String?
            if let number = ReaderCommand.number(answer[...]), !names.isEmpty,
                1...names.count ~= number
            {
                chosen = names[number - 1]
            } else if answer == "n" {
                attempt { reader throws(FetchError) in
                    chosen = try reader.makeIdentity(store, names, for: url)
                }
                if chosen == nil { continue }
            } else if answer == "q" {
                isDone = true
                return false
            } else {
                messages.error(nil, .usage, "there is no identity \(answer) in the list", hint: nil)
                continue
            }
            guard let chosen else { continue }
            try store.change { $0.add(chosen, scope) }
            messages.answer(["\(chosen) is for \(scope) and what lies below"])
            return true
        }
        return false
    }

    /// - Returns: Its name; `nil` if the user cancels.
    private func makeIdentity(
        _ store: IdentityStore, _ names: [String], for url: String
    ) throws(FetchError) -> String? {
        let usual = Bindings.freeName((try? URI(parsing: url))?.host ?? "", taken: names)
        guard let typed = keyboard.ask("name of the new identity [\(usual)]:", openers: nil) else {
            return nil
        }
        let name = typed.isEmpty ? usual : typed
        try store.make(name, settings.stores.keyType)
        return name
    }
}
