// SPDX-License-Identifier: MIT
// libcurl, opened with dlopen at the first http(s) fetch: it brings some thirty libraries along.
// Function pointers take their types from libcurl's own headers; its variadic setters and getters
// become one function per kind of argument, so a wrong signature does not compile.
#ifndef CSMALLWEBCURL_H
#define CSMALLWEBCURL_H

// The checking macros cannot follow a function pointer.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#define SWCURL_FUNCTIONS(X)                                                                       \
    X(curl_global_init) X(curl_version_info)                                                      \
    X(curl_easy_init) X(curl_easy_cleanup) X(curl_easy_setopt) X(curl_easy_getinfo)               \
    X(curl_easy_pause) X(curl_easy_strerror) X(curl_easy_reset)                                   \
    X(curl_slist_append) X(curl_slist_free_all)                                                   \
    X(curl_multi_init) X(curl_multi_cleanup) X(curl_multi_setopt) X(curl_multi_add_handle)        \
    X(curl_multi_remove_handle) X(curl_multi_socket_action) X(curl_multi_info_read)               \
    X(curl_multi_strerror)

struct swcurl_functions {
#define SWCURL_MEMBER(name) __typeof__(&name) _Null_unspecified name;
    SWCURL_FUNCTIONS(SWCURL_MEMBER)
#undef SWCURL_MEMBER
};

// Fills in every function of libcurl, of any TLS flavour. Returns NULL, or the error (valid until
// the next dl call).
const char *_Nullable swcurl_load(
    void *_Nonnull library, struct swcurl_functions *_Nonnull functions);

// curl_easy_setopt by kind of argument. Strings are copied by libcurl; callbacks and the pointers
// given to them are not, and must outlive the handle.
static inline CURLcode swcurl_set_long(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLoption option, long value) {
    return f->curl_easy_setopt(easy, option, value);
}
static inline CURLcode swcurl_set_offset(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLoption option,
    curl_off_t value) {
    return f->curl_easy_setopt(easy, option, value);
}
static inline CURLcode swcurl_set_string(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLoption option,
    const char *_Nullable value) {
    return f->curl_easy_setopt(easy, option, value);
}
static inline CURLcode swcurl_set_pointer(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLoption option,
    void *_Nullable value) {
    return f->curl_easy_setopt(easy, option, value);
}
static inline CURLcode swcurl_set_list(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLoption option,
    struct curl_slist *_Nullable value) {
    return f->curl_easy_setopt(easy, option, value);
}
static inline CURLcode swcurl_set_write(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLoption option,
    curl_write_callback _Nonnull value) {
    return f->curl_easy_setopt(easy, option, value);
}
static inline CURLcode swcurl_set_read(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLoption option,
    curl_read_callback _Nonnull value) {
    return f->curl_easy_setopt(easy, option, value);
}
static inline CURLcode swcurl_set_debug(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLoption option,
    curl_debug_callback _Nonnull value) {
    return f->curl_easy_setopt(easy, option, value);
}
static inline CURLcode swcurl_set_prereq(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLoption option,
    curl_prereq_callback _Nonnull value) {
    return f->curl_easy_setopt(easy, option, value);
}
static inline CURLcode swcurl_set_opensocket(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLoption option,
    curl_opensocket_callback _Nonnull value) {
    return f->curl_easy_setopt(easy, option, value);
}

static inline CURLcode swcurl_set_ssl_ctx(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLoption option,
    curl_ssl_ctx_callback _Nonnull value) {
    return f->curl_easy_setopt(easy, option, value);
}

// Options by number, because the headers of an older libcurl lack their names; an older libcurl
// refuses them.
static const CURLoption swcurl_protocols_option = (CURLoption)(CURLOPTTYPE_OBJECTPOINT + 318);
static const CURLoption swcurl_redirect_protocols_option =
    (CURLoption)(CURLOPTTYPE_OBJECTPOINT + 319);
static const CURLoption swcurl_quick_exit_option = (CURLoption)(CURLOPTTYPE_LONG + 322);

// CURLE_TOO_LARGE, since 8.6: a header line beyond libcurl's own limit.
static const CURLcode swcurl_too_large = (CURLcode)100;

// curl_easy_getinfo by kind of result.
static inline CURLcode swcurl_get_long(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLINFO info,
    long *_Nonnull value) {
    return f->curl_easy_getinfo(easy, info, value);
}
static inline CURLcode swcurl_get_offset(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLINFO info,
    curl_off_t *_Nonnull value) {
    return f->curl_easy_getinfo(easy, info, value);
}
// The string belongs to the handle and lives until the handle's next transfer.
static inline CURLcode swcurl_get_string(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy, CURLINFO info,
    const char *_Nullable *_Nonnull value) {
    return f->curl_easy_getinfo(easy, info, value);
}
static inline CURLcode swcurl_get_tls(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy,
    struct curl_tlssessioninfo *_Nullable *_Nonnull value) {
    return f->curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, value);
}
// The certificates that CURLOPT_CERTINFO has kept; owned by the handle.
static inline CURLcode swcurl_get_certificates(
    const struct swcurl_functions *_Nonnull f, CURL *_Nonnull easy,
    struct curl_certinfo *_Nullable *_Nonnull value) {
    return f->curl_easy_getinfo(easy, CURLINFO_CERTINFO, value);
}

// curl_multi_setopt by kind of argument.
static inline CURLMcode swcurl_multi_set_long(
    const struct swcurl_functions *_Nonnull f, CURLM *_Nonnull multi, CURLMoption option,
    long value) {
    return f->curl_multi_setopt(multi, option, value);
}
static inline CURLMcode swcurl_multi_set_pointer(
    const struct swcurl_functions *_Nonnull f, CURLM *_Nonnull multi, CURLMoption option,
    void *_Nullable value) {
    return f->curl_multi_setopt(multi, option, value);
}
static inline CURLMcode swcurl_multi_set_socket(
    const struct swcurl_functions *_Nonnull f, CURLM *_Nonnull multi, CURLMoption option,
    curl_socket_callback _Nonnull value) {
    return f->curl_multi_setopt(multi, option, value);
}
static inline CURLMcode swcurl_multi_set_timer(
    const struct swcurl_functions *_Nonnull f, CURLM *_Nonnull multi, CURLMoption option,
    curl_multi_timer_callback _Nonnull value) {
    return f->curl_multi_setopt(multi, option, value);
}

// The result of a finished transfer: a union that Swift reads awkwardly.
static inline CURLcode swcurl_result(const CURLMsg *_Nonnull message) {
    return message->data.result;
}

static const CURLversion swcurl_version_now = CURLVERSION_NOW;

enum {
    swcurl_socket_timeout = CURL_SOCKET_TIMEOUT,
    swcurl_write_pause = CURL_WRITEFUNC_PAUSE,
    swcurl_global_default = CURL_GLOBAL_DEFAULT,
    swcurl_poll_in = CURL_POLL_IN,
    swcurl_poll_out = CURL_POLL_OUT,
    swcurl_poll_inout = CURL_POLL_INOUT,
    swcurl_poll_remove = CURL_POLL_REMOVE,
    swcurl_select_in = CURL_CSELECT_IN,
    swcurl_select_out = CURL_CSELECT_OUT,
    swcurl_select_error = CURL_CSELECT_ERR,
};

#endif
