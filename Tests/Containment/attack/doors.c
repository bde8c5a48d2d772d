// SPDX-License-Identifier: MIT
// What the members `reads` and `connections` of a manifest give, and what lies beside that.
#define _GNU_SOURCE
#include "attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { TO_SERVER = 1, EVENTS = 3, BODY = 4, ANSWERS = 6, FIRST_OTHER = 7, LAST = 12 };

// MARK: Reading: what is printed is searched by run.py

// The directory that may be read, and what lies in it or is reached from it.
static const char *readable(const char *rest) {
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", told("reads"), rest);
    return path;
}

static const char *beside(const char *start) {
    static char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s%s", start, told("beside"));
    return path;
}

static long print_at(int directory, const char *rest) {
    char path[64];
    int file = openat(directory, rest, O_RDONLY);
    if (file < 0) return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return print_file(path);
}

static long print_names(const char *path) {
    char entries[8192];
    int file = open(path, O_RDONLY | O_DIRECTORY);
    long length = file < 0 ? -1 : syscall(SYS_getdents64, file, entries, sizeof entries);
    return length > 0 ? write(BODY, entries, (size_t)length) : -1;
}

static long read_beside(void) { return print_file(beside("")); }
static long read_longer_name(void) { return print_file(told("longer")); }
static long read_beside_file(void) { return print_file(told("list_beside")); }
static long read_above(void) { return print_file(readable("../beside/file")); }
static long read_link_out(void) { return print_file(readable("link-out")); }
static long read_link_up(void) { return print_file(readable("link-up/beside/file")); }
static long read_link_root(void) { return print_file(beside(readable("link-root"))); }
static long read_from_inside(void) {
    return print_at(open(told("reads"), O_RDONLY | O_DIRECTORY), "../beside/file");
}
static long read_from_name(void) { return print_at(open(told("reads"), O_PATH), "../beside/file"); }
static long read_from_working(void) {
    return chdir(told("reads")) == 0 ? print_file("../beside/file") : -1;
}
static long read_from_file(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", open(told("list"), O_PATH));
    return print_at(open(path, O_PATH), "../beside");
}
static long read_openat2(void) {
    struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_IN_ROOT};
    int file = (int)syscall(SYS_openat2, open("/", O_PATH), beside(""), &how, sizeof how);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return file < 0 ? -1 : print_file(path);
}
static long read_own_root(void) { return print_file(beside("/proc/self/root")); }
static long read_first_root(void) { return print_file(beside("/proc/1/root")); }
static long names_above(void) { return print_names(readable("..")); }
static long names_of_files(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", told("list"));
    *strrchr(path, '/') = '\0';
    return print_names(path);
}
// Whether something has come is seen by run.py.
static long write_pipe(void) {
    int file = open(readable("pipe"), O_WRONLY | O_NONBLOCK);
    return file < 0 ? -1 : write(file, "reads/write-pipe", 16);
}

const struct attempt reads[] = {
    {"beside", read_beside}, {"longer-name", read_longer_name},
    {"beside-file", read_beside_file}, {"above", read_above}, {"link-out", read_link_out},
    {"link-up", read_link_up}, {"link-root", read_link_root}, {"from-inside", read_from_inside},
    {"from-name", read_from_name}, {"from-working", read_from_working},
    {"from-file", read_from_file}, {"openat2", read_openat2}, {"own-root", read_own_root},
    {"first-root", read_first_root}, {"names-above", names_above},
    {"names-beside-file", names_of_files}, {"write-pipe", write_pipe}, {NULL, NULL},
};

// MARK: Descriptors of connections

static long each_connection(long (*use)(int)) {
    int is_done = 0;
    for (int number = 0; number <= LAST; number++)
        if (number < 2 || number >= ANSWERS) is_done |= use(number) >= 0;
    return is_done - 1;
}

static struct sockaddr_in elsewhere(void) {
    struct sockaddr_in there = {
        .sin_family = AF_INET, .sin_port = htons((unsigned short)told_number("forbidden"))};
    inet_pton(AF_INET, "127.0.0.1", &there.sin_addr);
    return there;
}

static long send_elsewhere(int number) {
    struct sockaddr_in there = elsewhere();
    return syscall(SYS_sendto, number, "x", 1, MSG_DONTWAIT, &there, sizeof there);
}
static long connect_elsewhere(int number) {
    struct sockaddr_in there = elsewhere();
    return syscall(SYS_connect, number, &there, sizeof there);
}
static long connect_local(int number) {
    struct sockaddr_un there = {.sun_family = AF_UNIX};
    snprintf(there.sun_path, sizeof there.sun_path, "%s", told("socket"));
    return syscall(SYS_connect, number, &there, sizeof there);
}
static long part(int number) {
    struct sockaddr there = {.sa_family = AF_UNSPEC};
    return syscall(SYS_connect, number, &there, sizeof there);
}
// smallweb would have it then.
static long pass(int number) {
    char control[CMSG_SPACE(sizeof number)] __attribute__((aligned(8))) = {0};
    struct iovec piece = {"x", 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control,
        .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof number);
    memcpy(CMSG_DATA(header), &number, sizeof number);
    return syscall(SYS_sendmsg, number, &message, MSG_DONTWAIT);
}
// They were made where smallweb has its network.
static long interfaces(int number) {
    char all[4096];
    struct ifconf list = {.ifc_len = sizeof all, .ifc_buf = all};
    return ioctl(number, SIOCGIFCONF, &list);
}
static long network_of(int number) { return ioctl(number, SIOCGSKNS); }

static long do_send_elsewhere(void) { return each_connection(send_elsewhere); }
static long do_connect_elsewhere(void) { return each_connection(connect_elsewhere); }
static long do_connect_local(void) { return each_connection(connect_local); }
static long do_part(void) { return each_connection(part); }
static long do_pass(void) { return each_connection(pass); }
static long do_interfaces(void) { return each_connection(interfaces); }
static long do_network_of(void) { return each_connection(network_of); }

// Those that its manifest asks for, and no others.
static long others(void) {
    for (int number = LAST + 1; number < 4096; number++)
        if (fcntl(number, F_GETFD) >= 0) return 0;
    return -1;
}

// Descriptors of another process.
static long open_of(long process) {
    char path[64];
    int is_done = 0;
    for (int number = 0; number < 64; number++) {
        for (int flags = O_RDONLY; flags <= O_RDWR; flags++) {
            snprintf(path, sizeof path, "/proc/%ld/fd/%d", process, number);
            is_done |= open(path, flags | O_NONBLOCK) >= 0;
        }
    }
    return is_done - 1;
}
static long open_of_smallweb(void) { return open_of(told_number("smallweb")); }
static long open_of_first(void) { return open_of(1); }
static long open_of_supervisor(void) {
    char line[4096] = "", path[64];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
    int file = open(path, O_RDONLY);
    if (file < 0 || read(file, line, sizeof line - 1) <= 0) return -1;
    char *end = strrchr(line, ')');
    if (!end || sscanf(end, ") %*c %d", &parent) != 1 || parent == 0) return -1;
    return open_of(parent);
}

const struct attempt connections[] = {
    {"sendto", do_send_elsewhere}, {"connect", do_connect_elsewhere},
    {"connect-local", do_connect_local}, {"part", do_part}, {"pass", do_pass},
    {"interfaces", do_interfaces}, {"network", do_network_of}, {"others", others},
    {"open-smallweb", open_of_smallweb}, {"open-first", open_of_first},
    {"open-supervisor", open_of_supervisor}, {NULL, NULL},
};

// MARK: Events

// Says what it was told, and shows the answer to that.
int say(const char *event) {
    char bytes[8192];
    ssize_t count;
    dprintf(EVENTS, "%s\n", event);
    if (!strstr(event, "\"open\"")) return 0;
    // What waits to be sent goes out when the connection is there.
    for (int number = FIRST_OTHER + 1; number <= LAST; number += 2)
        if (write(number, "said", 4) != 4) return 2;
    if ((count = read(ANSWERS, bytes, sizeof bytes)) > 0)
        return write(BODY, bytes, (size_t)count) == count ? 0 : 2;
    return 0;
}

int greet(void) {
    return write(TO_SERVER, "said", 4) == 4 ? 0 : 2;
}
