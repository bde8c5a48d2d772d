// SPDX-License-Identifier: MIT
#include "CSmallWebCrypto.h"

#include <dlfcn.h>

const char *swcrypto_load(void *library, struct swcrypto_functions *functions) {
#define SWCRYPTO_LOOK_UP(name)                                                                    \
    if ((functions->name = (__typeof__(functions->name))dlsym(library, #name)) == NULL)           \
        return dlerror();
    SWCRYPTO_FUNCTIONS(SWCRYPTO_LOOK_UP)
#undef SWCRYPTO_LOOK_UP
    return NULL;
}
