# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The configurations of servers that several tests start.

# pygopherd_conf ROOT PORT TYPES HANDLERS: TYPES is a file of media types, HANDLERS those tried first.
pygopherd_conf() {
    cat <<END
[pygopherd]
servername = localhost
interface = 127.0.0.1
port = $2
servertype = ForkingTCPServer
detach = no
usechroot = no
tracebacks = no
abstract_headers = off
abstract_entries = off
root = $1
mimetypes = $3
encoding = []
[logger]
logmethod = file
[GopherEntry]
defaultmimetype = text/plain
mapping = [['text/.+', '0'], ['application/gopher-menu', '1'], ['.*', '9']]
eaexts = {}
[handlers.HandlerMultiplexer]
handlers = [${4:-}UMN.UMNDirHandler, file.FileHandler]
[handlers.dir.DirHandler]
ignorepatt = ^/\\.
cachetime = 0
cachefile = .cache
[handlers.UMN.UMNDirHandler]
extstrip = none
[protocols.ProtocolMultiplexer]
protocols = [rfc1436.GopherProtocol]
END
}

# molly_brown_conf ROOT NAME: for localhost:1999, with NAME.crt and NAME.key.
molly_brown_conf() {
    printf '%s\n' 'Port = 1999' 'Hostname = "localhost"' "CertPath = \"$2.crt\"" "KeyPath = \"$2.key\"" \
        "DocBase = \"$1\"" 'AccessLog = "-"' 'ErrorLog = "-"'
}
