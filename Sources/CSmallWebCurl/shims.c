// SPDX-License-Identifier: MIT
#include "CSmallWebCurl.h"

#include <dlfcn.h>
#include <openssl/crypto.h>
#include <stddef.h>

const char *swcurl_load(void *library, struct swcurl_functions *functions) {
#define SWCURL_LOOK_UP(name)                                                                      \
    if ((functions->name = (__typeof__(&name))dlsym(library, #name)) == NULL) return dlerror();
    SWCURL_FUNCTIONS(SWCURL_LOOK_UP)
#undef SWCURL_LOOK_UP
#ifdef SMALLWEB_OWNS_PROCESS
    // libcurl initialises OpenSSL even for plain HTTP; see swtls_crypto_init_options.
    __typeof__(&OPENSSL_init_crypto) start =
        (__typeof__(&OPENSSL_init_crypto))dlsym(library, "OPENSSL_init_crypto");
    if (start != NULL) start(OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ATEXIT, NULL);
#endif
    return NULL;
}
