#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A list of URLs on standard input; a line for each as it is done, with the number of its line.
set -o pipefail
jq -Rc '{url: ., id: input_line_number}' | smallweb get --json -s -j 8 - |
    jq -r 'select(.type == "response" or .type == "error") | [.id, .outcome, .size // "-", .url] | @tsv'
