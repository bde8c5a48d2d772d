#!/bin/sh
# smallweb: { "scheme": "nex", "port": 1900, "transport": "tcp", "mime": "text/plain",
# smallweb:   "version": "1.0", "summary": "Nex (nightfall.city)" }
printf '%s\r\n' "${SMALLWEB_PATH:-/}"
exec cat >&4
# wire: url    nex://example.test/page
# wire: >      /page\r\n
# wire: <      Hello\n
# wire: =      {"event":"head","class":"success","mime":"text/plain"}
# wire: =      {"event":"body","text":"Hello\n"}
# wire: =      {"event":"end","completeness":"unverified"}
