// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCLI

exit(Tool.run(Environment.arguments))
