// SPDX-License-Identifier: MIT
#include "CSmallWebTLS.h"

#include "CSmallWebCrypto.h"
#include <dlfcn.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stddef.h>

// A function that CSmallWebCrypto declares in another way than OpenSSL does not compile.
#define SWTLS_SAME(name)                                                                          \
    _Static_assert(                                                                               \
        __builtin_types_compatible_p(                                                             \
            __typeof__(&name), __typeof__(((struct swcrypto_functions *)0)->name)),               \
        #name " has another type");
SWCRYPTO_FUNCTIONS(SWTLS_SAME)
#undef SWTLS_SAME
_Static_assert(
    swcrypto_init_options == (OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT),
    "OpenSSL's options have other values");

const char *swtls_load(void *library, struct swtls_functions *functions) {
#define SWTLS_LOOK_UP(name)                                                                       \
    if ((functions->name = (__typeof__(&name))dlsym(library, #name)) == NULL) return dlerror();
    SWTLS_FUNCTIONS(SWTLS_LOOK_UP)
#undef SWTLS_LOOK_UP
    return NULL;
}
