// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Option {
    /// Plugins that are programs.
    static let programs: [Option] = [
        Option(
            "plugin", .connection, "use the plugin in DIR, or of that name",
            manual: "Uses a plugin that is a program: the one in the folder DIR, which needs a / "
                + "in it, or the installed one of that name. It wins over all others that have its "
                + "schemes, also over those that are built in. smallweb-plugin(7) says what such a "
                + "folder holds.",
            example: "smallweb get --plugin ./dict dict://dict.example.org/word",
            .value("DIR|NAME") { settings, value in settings.connection.plugins.append(value) }),
        Option(
            "lang", .store, "plugin new: sh, python or swift",
            manual: "In which language 'smallweb plugin new' writes the program: sh, "
                + "python or swift.",
            example: "smallweb plugin new --lang python hello-python",
            .choice("LANG") { $0.stores.language = $1 }),
    ]
}
