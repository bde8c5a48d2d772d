// SPDX-License-Identifier: MIT
// OpenSSL's libcrypto, loaded with dlopen the first time something is hashed. Its header is not
// needed to build: the declarations needed are repeated here, and CSmallWebTLS holds them against
// OpenSSL's own.
#ifndef CSMALLWEBCRYPTO_H
#define CSMALLWEBCRYPTO_H

#include <stddef.h>
#include <stdint.h>

// EVP_MD_CTX, EVP_MD, ENGINE, OSSL_LIB_CTX and OPENSSL_INIT_SETTINGS.
struct evp_md_ctx_st;
struct evp_md_st;
struct engine_st;
struct ossl_lib_ctx_st;
struct ossl_init_settings_st;

#define SWCRYPTO_FUNCTIONS(X)                                                                     \
    X(OPENSSL_init_crypto) X(EVP_MD_CTX_new) X(EVP_MD_CTX_free) X(EVP_DigestInit_ex)              \
    X(EVP_DigestUpdate) X(EVP_DigestFinal_ex) X(EVP_MD_fetch)

struct swcrypto_functions {
    int (*_Null_unspecified OPENSSL_init_crypto)(
        uint64_t options, const struct ossl_init_settings_st *_Nullable settings);
    struct evp_md_ctx_st *_Nullable (*_Null_unspecified EVP_MD_CTX_new)(void);
    void (*_Null_unspecified EVP_MD_CTX_free)(struct evp_md_ctx_st *_Nullable context);
    int (*_Null_unspecified EVP_DigestInit_ex)(
        struct evp_md_ctx_st *_Nonnull context, const struct evp_md_st *_Nullable type,
        struct engine_st *_Nullable engine);
    int (*_Null_unspecified EVP_DigestUpdate)(
        struct evp_md_ctx_st *_Nonnull context, const void *_Nullable bytes, size_t count);
    int (*_Null_unspecified EVP_DigestFinal_ex)(
        struct evp_md_ctx_st *_Nonnull context, unsigned char *_Nullable digest,
        unsigned int *_Nullable count);
    struct evp_md_st *_Nullable (*_Null_unspecified EVP_MD_fetch)(
        struct ossl_lib_ctx_st *_Nullable library, const char *_Nonnull algorithm,
        const char *_Nullable properties);
};

// Fills in every function of libcrypto. Returns NULL, or the error (valid until the next dl call).
const char *_Nullable swcrypto_load(
    void *_Nonnull library, struct swcrypto_functions *_Nonnull functions);

// OPENSSL_INIT_NO_LOAD_CONFIG and OPENSSL_INIT_NO_ATEXIT: cleaning OpenSSL up before the process
// ends only takes time.
enum { swcrypto_init_options = 0x00080080 };

#endif
