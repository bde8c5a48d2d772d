// SPDX-License-Identifier: MIT
// The least that a fetch can cost: blocking sockets, OpenSSL, no checks of anything.
//
//     floor gopher|gemini HOST PORT PATH [socks|connect PROXYPORT]      body to stdout
//
// HOST is an IPv4 literal. For gopher PATH is the selector, for gemini the path of the URL. With
// -DWITHOUT_TLS there is only gopher: loading OpenSSL is not part of the least that it costs.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#ifndef WITHOUT_TLS
#include <openssl/ssl.h>
#endif

static char buffer[65536];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void put(const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, count);
        if (written < 0) fail("write");
        bytes += written;
        count -= (size_t)written;
    }
}

static int dial(const char *host, const char *port) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, host, &place.sin_addr) != 1) fail("inet_pton");
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(descriptor, (struct sockaddr *)&place, sizeof place) != 0) fail("connect");
    return descriptor;
}

static void receive(int descriptor, size_t count) {
    if (recv(descriptor, buffer, count, MSG_WAITALL) != (ssize_t)count) fail("recv");
}

// Through a proxy on the same machine.
static int dial_through(int is_socks, const char *proxy, const char *host, const char *port) {
    int descriptor = dial("127.0.0.1", proxy);
    unsigned char text[256];
    if (is_socks) {
        unsigned number = (unsigned)atoi(port);
        send(descriptor, "\5\1\0", 3, MSG_NOSIGNAL);
        receive(descriptor, 2);
        memcpy(text, "\5\1\0\1", 4);
        inet_pton(AF_INET, host, text + 4);
        text[8] = (unsigned char)(number >> 8);
        text[9] = (unsigned char)number;
        send(descriptor, text, 10, MSG_NOSIGNAL);
        receive(descriptor, 10);
    } else {
        int length = snprintf((char *)text, sizeof text,
            "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", host, port, host, port);
        send(descriptor, text, (size_t)length, MSG_NOSIGNAL);
        size_t got = 0;
        while (got < 4 || memcmp(buffer + got - 4, "\r\n\r\n", 4) != 0)
            if (recv(descriptor, buffer + got++, 1, 0) != 1) fail("recv");
    }
    return descriptor;
}

static int gopher(int descriptor, const char *request, size_t count) {
    if (send(descriptor, request, count, MSG_NOSIGNAL) < 0) fail("send");
    ssize_t got;
    while ((got = recv(descriptor, buffer, sizeof buffer, 0)) > 0) put(buffer, (size_t)got);
    return got < 0;
}

#ifdef WITHOUT_TLS
#define gemini gopher
#else
static int gemini(int descriptor, const char *request, size_t count) {
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, descriptor);
    if (SSL_connect(ssl) != 1) fail("SSL_connect");
    if (SSL_write(ssl, request, (int)count) <= 0) fail("SSL_write");
    int got, in_body = 0;
    size_t header = 0;
    while ((got = SSL_read(ssl, buffer + header, (int)(sizeof buffer - header))) > 0) {
        char *body = buffer;
        size_t length = header + (size_t)got;
        if (!in_body) {
            char *end = memchr(buffer, '\n', length);
            if (end == NULL) {
                header = length;
                continue;
            }
            body = end + 1;
            length -= (size_t)(body - buffer);
            in_body = 1;
            header = 0;
        }
        put(body, length);
    }
    int is_complete = SSL_get_error(ssl, got) == SSL_ERROR_ZERO_RETURN;
    SSL_shutdown(ssl);
    return !(in_body && is_complete);
}
#endif

int main(int count, char **arguments) {
    if (count != 5 && count != 7) {
        fputs("usage: floor gopher|gemini HOST PORT PATH [socks|connect PROXYPORT]\n", stderr);
        return 2;
    }
    const char *host = arguments[2], *port = arguments[3], *path = arguments[4];
    int is_gemini = strcmp(arguments[1], "gemini") == 0;
    char request[2048];
    int length = is_gemini
        ? snprintf(request, sizeof request, "gemini://%s:%s%s\r\n", host, port, path)
        : snprintf(request, sizeof request, "%s\r\n", path);
    if (length < 0 || (size_t)length >= sizeof request) return 2;
    int descriptor = count == 5
        ? dial(host, port)
        : dial_through(strcmp(arguments[5], "socks") == 0, arguments[6], host, port);
    return (is_gemini ? gemini : gopher)(descriptor, request, (size_t)length);
}
