// SPDX-License-Identifier: MIT
// Nothing for Swift: this target replaces members of the static Swift runtime (decision 0025).
