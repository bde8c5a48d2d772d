// SPDX-License-Identifier: MIT

/// The facts about a scheme that following its links needs.
package struct Crawling: Sendable, Hashable {
    /// The grammar of robots files, by the words of manifests.
    package enum Dialect: String, Sendable {
        case original = "1994"
        case standard = "9309"
    }

    /// Paths of the robots file in URLs, in the order of requests; the first with agents counts.
    package var robots: [String]
    package var dialect = Dialect.original
    /// True if the first byte of a path is an item type, which the server does not see.
    package var hasItemType = false
    /// Item types of menus: each is a directory, unless its name has a dot.
    package var menuTypes = ""
    /// True if a directory is a listing: lines, of which those that begin with `=>` are links.
    package var hasListings = false
    /// Item types that take input.
    package var inputTypes = ""
    /// Item types of other protocols.
    package var foreignTypes = ""
    /// Name of a mirror's file for a path that ends in a slash.
    package var indexName: String

    /// The status of a page that is not there; `nil` where the protocol has none.
    package var missingStatus: Int?

    /// - Parameter robots: Empty for a scheme without robots files.
    package init(robots: [String], indexName: String = "index", missing: Int? = nil) {
        (self.robots, self.indexName, missingStatus) = (robots, indexName, missing)
    }
}
