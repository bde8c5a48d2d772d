// SPDX-License-Identifier: MIT
#include "CSmallWebCurl.h"

#include <dlfcn.h>
#include <stddef.h>

const char *swcurl_load(struct swcurl_functions *functions) {
    // Lazily: its thirty libraries have thousands of symbols that an HTTP fetch never calls.
    void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) library = dlopen("libcurl-gnutls.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) return dlerror();
#define SWCURL_LOOK_UP(name)                                                                      \
    if ((functions->name = (__typeof__(&name))dlsym(library, #name)) == NULL) return dlerror();
    SWCURL_FUNCTIONS(SWCURL_LOOK_UP)
#undef SWCURL_LOOK_UP
    return NULL;
}
