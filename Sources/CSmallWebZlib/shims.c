// SPDX-License-Identifier: MIT
#include "CSmallWebZlib.h"

#include <dlfcn.h>
#include <stddef.h>

const char *swzlib_load(void *library, struct swzlib_functions *functions) {
#define SWZLIB_LOOK_UP(name)                                                                      \
    functions->name = (__typeof__(functions->name))dlsym(library, #name);                         \
    if (functions->name == NULL) return dlerror();
    SWZLIB_LOOK_UP(zlibVersion)
    SWZLIB_LOOK_UP(inflateInit2_)
    SWZLIB_LOOK_UP(inflate)
    SWZLIB_LOOK_UP(inflateReset)
    SWZLIB_LOOK_UP(inflateEnd)
    SWZLIB_LOOK_UP(deflateInit2_)
    SWZLIB_LOOK_UP(deflate)
    SWZLIB_LOOK_UP(deflateReset)
    SWZLIB_LOOK_UP(deflateEnd)
#undef SWZLIB_LOOK_UP
    return NULL;
}
