// SPDX-License-Identifier: MIT
internal import Glibc

exit(Tool.run(Array(CommandLine.arguments.dropFirst())))
