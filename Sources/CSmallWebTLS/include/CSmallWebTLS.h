// SPDX-License-Identifier: MIT
// OpenSSL, loaded with dlopen the first time a fetch needs TLS: loading it costs a plain-text
// fetch more than the fetch itself. Each function pointer takes its type from OpenSSL's own header,
// so a wrong signature does not compile.
#ifndef CSMALLWEBTLS_H
#define CSMALLWEBTLS_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#define SWTLS_FUNCTIONS(X)                                                                        \
    X(OPENSSL_init_crypto) X(OPENSSL_init_ssl) X(TLS_client_method)                               \
    X(SSL_CTX_new) X(SSL_CTX_free) X(SSL_CTX_ctrl) X(SSL_CTX_set_options) X(SSL_CTX_set_verify)   \
    X(OpenSSL_version) X(SSL_get0_alpn_selected)                                                  \
    X(SSL_new) X(SSL_free) X(SSL_set_bio) X(SSL_ctrl) X(SSL_set_connect_state)                    \
    X(SSL_do_handshake) X(SSL_read_ex) X(SSL_write_ex) X(SSL_shutdown) X(SSL_get_error)           \
    X(SSL_get_version) X(SSL_get_current_cipher) X(SSL_CIPHER_get_name)                           \
    X(SSL_CIPHER_standard_name) X(d2i_X509) X(OPENSSL_sk_new_null) X(OPENSSL_sk_push)             \
    X(OPENSSL_sk_free) X(SSL_get1_peer_certificate)                                               \
    X(SSL_CTX_sess_set_new_cb) X(SSL_set_session) X(SSL_session_reused) X(SSL_get_rbio)           \
    X(SSL_SESSION_get_protocol_version) X(SSL_SESSION_up_ref) X(SSL_SESSION_free)                 \
    X(BIO_meth_new) X(BIO_meth_set_read) X(BIO_meth_set_write) X(BIO_meth_set_ctrl) X(BIO_new)    \
    X(BIO_set_data) X(BIO_get_data) X(BIO_set_init) X(BIO_set_flags) X(BIO_clear_flags)           \
    X(BIO_new_mem_buf) X(BIO_s_mem) X(BIO_free) X(BIO_read)                                       \
    X(ERR_clear_error) X(ERR_get_error) X(ERR_reason_error_string)                                \
    X(ERR_error_string_n)                                                                         \
    X(EVP_Digest) X(EVP_sha256) X(i2d_X509) X(i2d_X509_PUBKEY) X(X509_get_X509_PUBKEY)            \
    X(X509_free) X(X509_get_subject_name) X(X509_get_issuer_name) X(X509_NAME_print_ex)           \
    X(X509_get0_notBefore) X(X509_get0_notAfter) X(ASN1_TIME_to_tm)                               \
    X(X509_check_host) X(X509_check_ip_asc) X(CRYPTO_free)                                        \
    X(X509_get0_serialNumber) X(X509_get_ext_d2i) X(X509_get0_pubkey)                             \
    X(ASN1_STRING_get0_data) X(ASN1_STRING_length) X(ASN1_STRING_type)                            \
    X(OPENSSL_sk_num) X(OPENSSL_sk_value) X(GENERAL_NAME_get0_value) X(GENERAL_NAMES_free)        \
    X(EVP_PKEY_get0_type_name) X(EVP_PKEY_get_bits) X(EVP_PKEY_get_group_name)                    \
    X(EVP_sha512) X(X509_get_signature_info)                                                      \
    X(X509_STORE_new) X(X509_STORE_set_default_paths) X(X509_STORE_CTX_new) X(X509_STORE_CTX_free) \
    X(X509_get_default_cert_file) X(X509_get_default_cert_dir)                                    \
    X(X509_STORE_CTX_init) X(X509_STORE_CTX_set_default) X(X509_STORE_CTX_get_error)              \
    X(X509_verify_cert) X(X509_verify_cert_error_string) X(SSL_get_peer_cert_chain)            \
    X(SSL_use_certificate) X(SSL_use_PrivateKey) X(SSL_set_cert_cb) X(PEM_read_bio_X509)          \
    X(PEM_read_bio_PrivateKey) X(PEM_write_bio_X509) X(PEM_write_bio_PKCS8PrivateKey)             \
    X(EVP_PKEY_free) X(EVP_PKEY_CTX_new_from_name) X(EVP_PKEY_CTX_free) X(EVP_PKEY_keygen_init)   \
    X(EVP_PKEY_CTX_set_group_name) X(EVP_PKEY_generate) X(X509_new) X(X509_set_version)           \
    X(X509_get_serialNumber) X(ASN1_INTEGER_set_uint64) X(X509_getm_notBefore)                    \
    X(X509_getm_notAfter) X(ASN1_TIME_set) X(X509_set_pubkey) X(X509_set_issuer_name) X(X509_sign) \
    X(X509_NAME_add_entry_by_txt) X(X509_check_private_key)                                       \
    X(EVP_add_cipher) X(EVP_des_ede3_cbc)                                                         \
    X(EVP_aes_128_cbc) X(EVP_aes_192_cbc) X(EVP_aes_256_cbc)                                      \
    X(EVP_camellia_128_cbc) X(EVP_camellia_192_cbc) X(EVP_camellia_256_cbc)                       \
    X(EVP_aria_128_cbc) X(EVP_aria_192_cbc) X(EVP_aria_256_cbc)

struct swtls_functions {
#define SWTLS_MEMBER(name) __typeof__(&name) _Null_unspecified name;
    SWTLS_FUNCTIONS(SWTLS_MEMBER)
#undef SWTLS_MEMBER
};

// Fills in every function, of libssl or of a library that needs it. Returns NULL, or the error
// (valid until the next dl call).
const char *_Nullable swtls_load(
    void *_Nonnull library, struct swtls_functions *_Nonnull functions);

// Macros that Swift cannot see.
static inline int swtls_error_reason(unsigned long code) { return ERR_GET_REASON(code); }
enum {
    swtls_min_proto_version_command = SSL_CTRL_SET_MIN_PROTO_VERSION,
    swtls_hostname_command = SSL_CTRL_SET_TLSEXT_HOSTNAME,
    swtls_hostname_type = TLSEXT_NAMETYPE_host_name,
    // A second handshake of TLS 1.2 could bring a key that has not been judged.
    swtls_options = SSL_OP_NO_RENEGOTIATION,
    swtls_mode_command = SSL_CTRL_MODE,
    swtls_session_cache_mode_command = SSL_CTRL_SET_SESS_CACHE_MODE,
    // OpenSSL's own cache does not keep identities apart, so only our callback gets sessions.
    swtls_session_cache_modes = SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL,
    swtls_clear_mode_command = SSL_CTRL_CLEAR_MODE,
    swtls_auto_retry = SSL_MODE_AUTO_RETRY,
    // A retried write may pass another address; buffers are freed when idle.
    swtls_modes = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        | SSL_MODE_RELEASE_BUFFERS,
    swtls_bio_flags = BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY,
    // Cleaning OpenSSL up before the process ends only takes time.
    swtls_init_options = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT,
#ifdef SMALLWEB_OWNS_PROCESS
    // Only encrypted keys need ciphers by name, and add them (see ClientIdentity). This saves a
    // tenth of the start. In the release binary alone, as it applies to the whole process.
    swtls_crypto_init_options = swtls_init_options | OPENSSL_INIT_NO_ADD_ALL_CIPHERS,
#else
    swtls_crypto_init_options = swtls_init_options,
#endif
    swtls_name_flags = XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB,
};

#endif
