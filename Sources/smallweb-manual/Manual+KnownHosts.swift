// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Manual {
    static var knownHosts: String {
        opening("smallweb-known_hosts", 5, "the keys of servers that smallweb trusts") + """
            .Sh DESCRIPTION
            A text file in UTF-8 with one pin per line, here folded:
            .Bd -literal -offset indent
            example.org:1965 k sha256:6ad3... expires=1797805033
                first=1795212233 last=1795299433 n=12 via=first-use
                seen=c:sha256:1b2c...,c:sha512:37ac...
            .Ed
            .Pp
            The fields of a line are separated by spaces or tabs.
            Upper case counts as lower case.
            .Bl -tag -width Ds
            .It Ar host : Ns Ar port
            The server: A-labels in lower case, the port always written, IPv6 in
            brackets.
            A dot at the end of the host is ignored.
            .It Li k No or Li c
            The pin is of the public key (SubjectPublicKeyInfo), or, as other clients
            have it, of the whole certificate.
            The latter becomes a pin of the key at its first match.
            .It Li sha256 : Ns Ar hex , Li sha512 : Ns Ar hex
            The hash of its DER form, in lower case; sha512 of certificates alone.
            .It Li expires No = Ns Ar seconds
            When the certificate expires, in Unix time.
            Until then another key is refused; afterwards it takes the place of
            this one.
            Without a number another key is never taken.
            .It Li first No = Ns Ar seconds , Li last No = Ns Ar seconds
            When the key was first met, and the last day on which it was.
            .It Li n No = Ns Ar number
            On how many days it was met.
            .It Li via No = Ns Ar word
            How the pin came about: first-use, renewed, asked (the user said yes), added,
            replaced, or import:CLIENT.
            .It Li seen No = Ns Ar hashes
            Of the certificate that was met last, so that the stores of all other
            clients can be written.
            .El
            .Pp
            Several lines for one server are alternatives: while one of them has not
            expired, no other key is taken.
            Comments, which begin with #, lines of other kinds and unknown fields survive
            when the file is written again.
            Deleting a line makes the next visit the first.
            A line of a server that cannot be read as a pin is never passed over: other
            keys of that server are refused until the line is corrected or deleted.
            .Pp
            Writers lock the directory and put a new file, with the same permissions, in
            the place of the old one: a reader sees one or the other, and a process that
            is killed leaves one of them.
            A file that is mounted by itself is written in place; its old content is
            .Ar file Ns .saved
            until that has succeeded.
            A device such as
            .Pa /dev/null
            is an empty store that keeps nothing.
            .Sh FILES
            .Bl -tag -width Ds
            .It Pa $XDG_DATA_HOME/smallweb/known_hosts
            The file, unless
            .Ev SMALLWEB_KNOWN_HOSTS
            or
            .Fl -known-hosts
            names another.
            .El
            .Sh EXAMPLES
            Keep a store together with a script, and let it trust nothing else:
            .Pp
            .Dl smallweb trust add --known-hosts ./hosts example.org
            .Dl smallweb get --known-hosts ./hosts --trust locked gemini://example.org/

            """ + seeAlso(["smallweb 1", "smallweb-trust 1"])
    }
}
