// SPDX-License-Identifier: MIT
internal import Glibc

exit(Tool.run(Arguments.words))
