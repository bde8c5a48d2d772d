# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The other half of git.sh, which asks for the part's name.

# shellcheck source-path=SCRIPTDIR source=git.sh
. "$here/git.sh"
