// SPDX-License-Identifier: MIT
// Preloaded, it tells a program that pages have 64 KiB, as with some kernels.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

long sysconf(int name) {
    // The supervisor of a plugin asks this when it must not wait for a lock.
    if (name == _SC_PAGESIZE) return 64 << 10;
    long (*usual)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return usual(name);
}
