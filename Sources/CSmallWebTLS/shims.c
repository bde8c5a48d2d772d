// SPDX-License-Identifier: MIT
#include "CSmallWebTLS.h"

#include <dlfcn.h>
#include <stddef.h>

const char *swtls_load(void *library, struct swtls_functions *functions) {
#define SWTLS_LOOK_UP(name)                                                                       \
    if ((functions->name = (__typeof__(&name))dlsym(library, #name)) == NULL) return dlerror();
    SWTLS_FUNCTIONS(SWTLS_LOOK_UP)
#undef SWTLS_LOOK_UP
    return NULL;
}
