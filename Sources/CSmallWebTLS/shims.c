// SPDX-License-Identifier: MIT
#include "CSmallWebTLS.h"

#include "CSmallWebPOSIX.h"

#include <dlfcn.h>
#include <stddef.h>

const char *swtls_load(struct swtls_functions *functions) {
    void *library = dlopen("libssl.so.3", RTLD_NOW | swposix_library_scope(0));
    if (library == NULL) return dlerror();
#define SWTLS_LOOK_UP(name)                                                                       \
    if ((functions->name = (__typeof__(&name))dlsym(library, #name)) == NULL) return dlerror();
    SWTLS_FUNCTIONS(SWTLS_LOOK_UP)
#undef SWTLS_LOOK_UP
    return NULL;
}
