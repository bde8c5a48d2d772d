// SPDX-License-Identifier: MIT
// OpenSSL's libcrypto, loaded with dlopen the first time something is hashed. Each function pointer
// takes its type from OpenSSL's own header, so a wrong signature does not compile.
#ifndef CSMALLWEBCRYPTO_H
#define CSMALLWEBCRYPTO_H

#include <openssl/crypto.h>
#include <openssl/evp.h>

#define SWCRYPTO_FUNCTIONS(X)                                                                     \
    X(OPENSSL_init_crypto) X(EVP_MD_CTX_new) X(EVP_MD_CTX_free) X(EVP_DigestInit_ex)              \
    X(EVP_DigestUpdate) X(EVP_DigestFinal_ex) X(EVP_MD_fetch)

struct swcrypto_functions {
#define SWCRYPTO_MEMBER(name) __typeof__(&name) _Null_unspecified name;
    SWCRYPTO_FUNCTIONS(SWCRYPTO_MEMBER)
#undef SWCRYPTO_MEMBER
};

// Fills in every function of libcrypto. Returns NULL, or the error (valid until the next dl call).
const char *_Nullable swcrypto_load(
    void *_Nonnull library, struct swcrypto_functions *_Nonnull functions);

// Macros that Swift cannot see. Cleaning OpenSSL up before the process ends only takes time.
enum {
    swcrypto_init_options = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT,
};

#endif
