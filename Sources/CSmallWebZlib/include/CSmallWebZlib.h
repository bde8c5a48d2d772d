// SPDX-License-Identifier: MIT
// zlib's inflate, opened with dlopen the first time something is inflated. Its header is not needed
// to build: the little that is used of it is declared here, as every libz.so.1 has it.
// `inflateInit2_` checks the version and the size of the stream that it is given.
#ifndef CSMALLWEBZLIB_H
#define CSMALLWEBZLIB_H

// z_stream. zlib keeps a pointer to it, so it must not move.
struct swzlib_stream {
    const unsigned char *_Nullable next_in;
    unsigned int avail_in;
    unsigned long total_in;
    unsigned char *_Nullable next_out;
    unsigned int avail_out;
    unsigned long total_out;
    const char *_Nullable msg;
    void *_Nullable state;
    void *_Nullable zalloc;
    void *_Nullable zfree;
    void *_Nullable opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
};

struct swzlib_functions {
    const char *_Nonnull (*_Null_unspecified zlibVersion)(void);
    int (*_Null_unspecified inflateInit2_)(
        struct swzlib_stream *_Nonnull stream, int window_bits, const char *_Nonnull version,
        int stream_bytes);
    int (*_Null_unspecified inflate)(struct swzlib_stream *_Nonnull stream, int flush);
    int (*_Null_unspecified inflateReset)(struct swzlib_stream *_Nonnull stream);
    int (*_Null_unspecified inflateEnd)(struct swzlib_stream *_Nonnull stream);
};

// Opens libz and fills in every function. Returns NULL, or what is missing (valid until the next dl
// call).
const char *_Nullable swzlib_load(struct swzlib_functions *_Nonnull functions);

// Z_NO_FLUSH and return codes.
enum {
    swzlib_no_flush = 0,
    swzlib_ok = 0,
    swzlib_stream_end = 1,
    swzlib_need_dictionary = 2,
    swzlib_data_error = -3,
    swzlib_buffer_error = -5,
};

// Window bits: a zlib stream (RFC 1950) or a member of gzip (RFC 1952), with its check.
enum {
    swzlib_zlib = 15,
    swzlib_gzip = 15 + 16,
};

// inflateInit2, the macro. `stream` is all zero.
static inline int swzlib_inflate_init(
    const struct swzlib_functions *_Nonnull f, struct swzlib_stream *_Nonnull stream,
    int window_bits) {
    return f->inflateInit2_(stream, window_bits, "1.2.0", (int)sizeof *stream);
}

#endif
