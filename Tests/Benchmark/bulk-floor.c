// SPDX-License-Identifier: MIT
// The least that many requests of one process can cost: one thread, epoll, no TLS, no look-ups, no
// output, every reply read to its end and thrown away.
//
//     bulk-floor ADDRESS PORT SELECTOR COUNT PARALLEL
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address;
static char request[1024];
static size_t request_size;
static int queue;

static int fail(const char *what) {
    perror(what);
    exit(1);
}

static void begin(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) fail("socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS) {
        fail("connect");
    }
    struct epoll_event event = {.events = EPOLLOUT, .data.fd = fd};
    if (epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event) < 0) fail("epoll_ctl");
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: %s ADDRESS PORT SELECTOR COUNT PARALLEL\n", argv[0]);
        return 2;
    }
    address.sin_family = AF_INET;
    address.sin_port = htons((unsigned short)atoi(argv[2]));
    if (inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) fail(argv[1]);
    request_size = (size_t)snprintf(request, sizeof request, "%s\r\n", argv[3]);
    if (request_size >= sizeof request) return 2;
    long waiting = atol(argv[4]), running = 0;
    int parallel = atoi(argv[5]);
    queue = epoll_create1(EPOLL_CLOEXEC);
    if (queue < 0) fail("epoll_create1");
    for (; running < parallel && waiting > 0; running++, waiting--) begin();
    struct epoll_event events[64];
    static char buffer[65536];
    while (running > 0) {
        int count = epoll_wait(queue, events, 64, -1);
        for (int index = 0; index < count; index++) {
            int fd = events[index].data.fd;
            if (events[index].events & EPOLLOUT) {
                if (send(fd, request, request_size, MSG_NOSIGNAL) != (ssize_t)request_size) {
                    fail("send");
                }
                struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
                epoll_ctl(queue, EPOLL_CTL_MOD, fd, &event);
                continue;
            }
            ssize_t size;
            while ((size = recv(fd, buffer, sizeof buffer, 0)) > 0) {}
            if (size < 0 && errno == EAGAIN) continue;
            if (size < 0) fail("recv");
            close(fd);
            running--;
            if (waiting > 0) {
                begin();
                waiting--;
                running++;
            }
        }
    }
    return 0;
}
