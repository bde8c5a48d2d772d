// SPDX-License-Identifier: MIT
// Ways out by sockets, and what it can see of other processes and stores.
#define _GNU_SOURCE
#include "attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

// MARK: Sockets

static long opens(int family, int kind) { return syscall(SYS_socket, family, kind, 0); }
static long local_stream(void) { return opens(AF_UNIX, SOCK_STREAM); }
static long local_datagram(void) { return opens(AF_UNIX, SOCK_DGRAM); }
static long local_packet(void) { return opens(AF_UNIX, SOCK_SEQPACKET); }
static long internet(void) { return opens(AF_INET, SOCK_STREAM); }
static long internet_datagram(void) { return opens(AF_INET, SOCK_DGRAM); }
static long internet6(void) { return opens(AF_INET6, SOCK_STREAM); }
static long internet_raw(void) { return opens(AF_INET, SOCK_RAW); }
static long netlink(void) { return opens(AF_NETLINK, SOCK_RAW); }
static long packets(void) { return opens(AF_PACKET, SOCK_RAW); }
static long virtual(void) { return opens(AF_VSOCK, SOCK_STREAM); }
static long algorithms(void) { return opens(AF_ALG, SOCK_SEQPACKET); }

static struct sockaddr_un there;

// The address of run.py's socket: a file, or a name where `is_abstract`.
static socklen_t address(const char *name, int is_abstract) {
    memset(&there, 0, sizeof there);
    there.sun_family = AF_UNIX;
    snprintf(there.sun_path + is_abstract, sizeof there.sun_path - 1, "%s", told(name));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)is_abstract
        + strlen(there.sun_path + is_abstract));
}

static int datagrams(void) {
    int ends[2];
    return syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, ends) == 0 ? ends[0] : -1;
}

static long send_to(const char *name, int is_abstract, const char *text) {
    socklen_t length = address(name, is_abstract);
    return syscall(SYS_sendto, datagrams(), text, strlen(text), 0, &there, length);
}

static struct msghdr message;
static struct iovec piece;

static void compose(const char *text, socklen_t length, int descriptor) {
    static char control[CMSG_SPACE(sizeof descriptor)] __attribute__((aligned(8)));
    piece = (struct iovec){(char *)text, strlen(text)};
    message = (struct msghdr){
        .msg_name = &there, .msg_namelen = length, .msg_iov = &piece, .msg_iovlen = 1};
    if (descriptor < 0) return;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
}

static long do_sendto(void) { return send_to("socket", 0, "sockets/sendto"); }
static long sendto_abstract(void) { return send_to("abstract", 1, "sockets/sendto-abstract"); }
static long do_sendmsg(void) {
    compose("sockets/sendmsg", address("socket", 0), -1);
    return syscall(SYS_sendmsg, datagrams(), &message, 0);
}
static long pass_descriptor(void) {
    compose("sockets/pass-descriptor", address("socket", 0), 0);
    return syscall(SYS_sendmsg, datagrams(), &message, 0);
}
static long do_sendmmsg(void) {
    compose("sockets/sendmmsg", address("socket", 0), -1);
    struct mmsghdr several = {.msg_hdr = message};
    return syscall(SYS_sendmmsg, datagrams(), &several, 1, 0);
}
static long do_connect(void) {
    socklen_t length = address("socket", 0);
    return syscall(SYS_connect, datagrams(), &there, length);
}
static long connect_stream(void) {
    socklen_t length = address("stream", 0);
    return syscall(SYS_connect, local_stream(), &there, length);
}
static long do_bind(void) {
    memset(&there, 0, sizeof there);
    there.sun_family = AF_UNIX;
    snprintf(there.sun_path, sizeof there.sun_path, "%s/bound", getenv("TMPDIR"));
    return syscall(SYS_bind, datagrams(), &there, sizeof there);
}
static long bind_abstract(void) {
    there.sun_family = AF_UNIX;
    return syscall(SYS_bind, datagrams(), &there, sizeof there.sun_family);
}
static long listen_accept(void) {
    int ends[2];
    if (syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends) != 0) return -1;
    if (syscall(SYS_listen, ends[0], 1) != 0) return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return syscall(SYS_accept, ends[0], NULL, NULL);
}
static long ring(void) {
    char parameters[256] = {0};
    return syscall(425, 1, parameters);
}

const struct attempt sockets[] = {
    {"unix-stream", local_stream}, {"unix-datagram", local_datagram},
    {"unix-packet", local_packet}, {"inet", internet}, {"inet-datagram", internet_datagram},
    {"inet6", internet6}, {"inet-raw", internet_raw}, {"netlink", netlink},
    {"packet", packets}, {"vsock", virtual}, {"alg", algorithms}, {"sendto", do_sendto},
    {"sendto-abstract", sendto_abstract}, {"sendmsg", do_sendmsg},
    {"pass-descriptor", pass_descriptor}, {"sendmmsg", do_sendmmsg}, {"connect", do_connect},
    {"connect-stream", connect_stream}, {"bind", do_bind}, {"bind-abstract", bind_abstract},
    {"listen", listen_accept}, {"io_uring", ring}, {NULL, NULL},
};

// MARK: Looking for secrets: what is printed is searched by run.py

static long look_file(const char *name) { return print_file(told(name)); }
static long known_hosts(void) { return look_file("known_hosts"); }
static long identity(void) { return look_file("identity"); }
static long configuration(void) { return look_file("config"); }
static long passwords(void) { return print_file("/etc/shadow"); }

static long look_process(const char *number) {
    static const char *const files[] = {
        "cmdline", "environ", "maps", "mem", "stack", "auxv", "io", "syscall"};
    char path[64];
    long total = -1;
    for (unsigned index = 0; index < sizeof files / sizeof *files; index++) {
        snprintf(path, sizeof path, "/proc/%s/%s", number, files[index]);
        if (print_file(path) > 0) total = 0;
    }
    return total;
}

static long look_number(long number) {
    char text[32];
    snprintf(text, sizeof text, "%ld", number);
    return look_process(text);
}

static long look_first(void) { return look_number(1); }
static long look_smallweb(void) { return look_number(told_number("smallweb")); }
static long look_victim(void) { return look_number(told_number("victim")); }
static long look_all(void) {
    DIR *all = opendir("/proc");
    if (!all) return -1;
    for (struct dirent *entry; (entry = readdir(all));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') look_process(entry->d_name);
    return 0;
}

// The parent of this process is the program, whose parent is the supervisor.
static long look_parent(void) {
    char path[64], line[4096] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
    int file = open(path, O_RDONLY), parent = 0;
    if (file < 0 || read(file, line, sizeof line - 1) <= 0) return -1;
    char *end = strrchr(line, ')');
    if (!end || sscanf(end, ") %*c %d", &parent) != 1 || parent == 0) return -1;
    return look_number(parent);
}

// The numbers of other processes: of the victim, of which run.py knows that it lives.
static long see_victim(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld", told_number("victim"));
    return access(path, F_OK);
}

static long look_descriptors(void) {
    char path[64], target[PATH_MAX];
    for (int number = 0; number < 64; number++) {
        snprintf(path, sizeof path, "/proc/%ld/fd/%d", told_number("smallweb"), number);
        if (readlink(path, target, sizeof target) > 0) return 0;
    }
    return -1;
}

// What tells this machine from others.
static long look_boot(void) { return print_file("/proc/sys/kernel/random/boot_id"); }
static long look_modules(void) { return print_file("/proc/modules"); }
static long look_devices(void) { return print_file("/proc/partitions"); }

const struct attempt looks[] = {
    {"known-hosts", known_hosts}, {"identity", identity}, {"config", configuration},
    {"shadow", passwords}, {"process-1", look_first}, {"smallweb", look_smallweb},
    {"victim", look_victim}, {"supervisor", look_parent}, {"processes", look_all},
    {"numbers", see_victim}, {"descriptors", look_descriptors}, {"boot", look_boot},
    {"modules", look_modules}, {"devices", look_devices}, {NULL, NULL},
};
