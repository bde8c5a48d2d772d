// SPDX-License-Identifier: MIT
#include "CSmallWebCrypto.h"

#include "CSmallWebPOSIX.h"

#include <dlfcn.h>
#include <stddef.h>

const char *swcrypto_load(struct swcrypto_functions *functions) {
    void *library = dlopen("libcrypto.so.3", RTLD_LAZY | swposix_library_scope(0));
    if (library == NULL) return dlerror();
#define SWCRYPTO_LOOK_UP(name)                                                                    \
    if ((functions->name = (__typeof__(&name))dlsym(library, #name)) == NULL) return dlerror();
    SWCRYPTO_FUNCTIONS(SWCRYPTO_LOOK_UP)
#undef SWCRYPTO_LOOK_UP
    return NULL;
}
