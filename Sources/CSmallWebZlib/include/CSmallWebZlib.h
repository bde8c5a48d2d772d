// SPDX-License-Identifier: MIT
// zlib, loaded with dlopen the first time something is inflated or deflated. Its header is not
// needed to build: the few declarations needed are repeated here, as every libz.so.1 has them.
// `inflateInit2_` and `deflateInit2_` check the version and the size of the stream.
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
    int (*_Null_unspecified deflateInit2_)(
        struct swzlib_stream *_Nonnull stream, int level, int method, int window_bits,
        int memory_level, int strategy, const char *_Nonnull version, int stream_bytes);
    int (*_Null_unspecified deflate)(struct swzlib_stream *_Nonnull stream, int flush);
    int (*_Null_unspecified deflateReset)(struct swzlib_stream *_Nonnull stream);
    int (*_Null_unspecified deflateEnd)(struct swzlib_stream *_Nonnull stream);
};

// Fills in every function of libz. Returns NULL, or the error (valid until the next dl call).
const char *_Nullable swzlib_load(
    void *_Nonnull library, struct swzlib_functions *_Nonnull functions);

// Z_NO_FLUSH, Z_FINISH, Z_DEFLATED, strategies and return codes.
enum {
    swzlib_no_flush = 0,
    swzlib_finish = 4,
    swzlib_deflated = 8,
    swzlib_default_strategy = 0,
    swzlib_huffman_only = 2,
    swzlib_ok = 0,
    swzlib_stream_end = 1,
    swzlib_need_dictionary = 2,
    swzlib_data_error = -3,
    swzlib_buffer_error = -5,
};

// Window bits: a zlib stream (RFC 1950) or a gzip member (RFC 1952), with its checksum.
enum {
    swzlib_zlib = 15,
    swzlib_gzip = 15 + 16,
};

// The macro inflateInit2. `stream` must be all zero.
static inline int swzlib_inflate_init(
    const struct swzlib_functions *_Nonnull f, struct swzlib_stream *_Nonnull stream,
    int window_bits) {
    return f->inflateInit2_(stream, window_bits, "1.2.0", (int)sizeof *stream);
}

// The macro deflateInit2, for a gzip member. `stream` must be all zero.
static inline int swzlib_deflate_init(
    const struct swzlib_functions *_Nonnull f, struct swzlib_stream *_Nonnull stream, int level,
    int memory_level, int strategy) {
    return f->deflateInit2_(
        stream, level, swzlib_deflated, swzlib_gzip, memory_level, strategy, "1.2.0",
        (int)sizeof *stream);
}

#endif
