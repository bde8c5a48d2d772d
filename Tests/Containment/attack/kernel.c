// SPDX-License-Identifier: MIT
// The kernel's own things: namespaces, mounts, keys, memory files, IPC; and what must work.
#define _GNU_SOURCE
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

// MARK: The kernel

static long memory_file(void) { return syscall(SYS_memfd_create, "x", 0); }
static long secret_file(void) { return syscall(447, 0); }
static long fault_handler(void) { return syscall(SYS_userfaultfd, 1); }
static long bpf(void) {
    uint32_t map[32] = {2, 4, 4, 1};
    return syscall(SYS_bpf, 0, map, sizeof map);
}
static long perf(void) {
    uint64_t event[16] = {1, 0};
    ((uint32_t *)event)[1] = sizeof event;
    return syscall(SYS_perf_event_open, event, 0, -1, -1, 0);
}
static long add_key(void) { return syscall(SYS_add_key, "user", "attack", "x", 1, -3); }
static long request_key(void) { return syscall(SYS_request_key, "user", "attack", NULL, -3); }
static long key_ring(void) { return syscall(SYS_keyctl, 0, -3, 1); }
static long mounts(void) {
    return syscall(SYS_mount, "none", getenv("TMPDIR"), "tmpfs", 0, NULL);
}
static long binds(void) {
    return syscall(SYS_mount, "/", getenv("TMPDIR"), NULL, MS_BIND, NULL);
}
static long unmounts(void) { return syscall(SYS_umount2, "/proc", 0); }
static long opens_system(void) { return syscall(430, "tmpfs", 0); }
static long opens_tree(void) { return syscall(428, AT_FDCWD, "/", 1); }
static long picks(void) { return syscall(433, AT_FDCWD, "/", 0); }
static long sets_mount(void) {
    uint64_t attributes[4] = {1, 0, 0, 0};
    return syscall(442, AT_FDCWD, "/", 0, attributes, sizeof attributes);
}
static long pivots(void) {
    return syscall(SYS_pivot_root, getenv("TMPDIR"), getenv("TMPDIR"));
}
static long changes_root(void) { return syscall(SYS_chroot, getenv("TMPDIR")); }
static long unshare_users(void) { return syscall(SYS_unshare, CLONE_NEWUSER); }
static long unshare_mounts(void) { return syscall(SYS_unshare, CLONE_NEWNS); }
static long unshare_network(void) { return syscall(SYS_unshare, CLONE_NEWNET); }
static long joins(void) {
    return syscall(SYS_setns, open("/proc/self/ns/user", O_RDONLY), 0);
}
static long joins_process(void) {
    return syscall(SYS_setns, syscall(434, told_number("victim"), 0), CLONE_NEWNS);
}
static long clones(void) {
    long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    return child;
}
static long clones3(void) {
    uint64_t arguments[8] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
    long child = syscall(435, arguments, sizeof arguments);
    if (child == 0) _exit(0);
    return child;
}
static long opens_handle(void) {
    struct { struct file_handle handle; char bytes[128]; } place;
    int mount;
    place.handle.handle_bytes = 128;
    if (name_to_handle_at(AT_FDCWD, "/", &place.handle, &mount, 0) != 0) return -1;
    return open_by_handle_at(open("/", O_RDONLY), &place.handle, O_RDONLY);
}
static long types(void) {
    char letter = 'x';
    long is_done = -1;
    int terminal = open("/dev/tty", O_RDWR);
    for (int number = 0; number < 6; number++)
        if (ioctl(number, TIOCSTI, &letter) == 0) is_done = 0;
    return terminal >= 0 && ioctl(terminal, TIOCSTI, &letter) == 0 ? 0 : is_done;
}
static long watches_all(void) { return syscall(SYS_fanotify_init, 0, O_RDONLY); }
static long reads_log(void) { return syscall(SYS_syslog, 10, NULL, 0); }
static long capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data) != 0) return -1;
    errno = 0;
    return data[0].effective | data[1].effective | data[0].permitted | data[1].permitted ? 0 : -1;
}
static long privileges(void) { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? -1 : 0; }

const struct attempt kernel[] = {
    {"memfd_create", memory_file}, {"memfd_secret", secret_file},
    {"userfaultfd", fault_handler}, {"bpf", bpf}, {"perf_event_open", perf},
    {"add_key", add_key}, {"request_key", request_key}, {"keyctl", key_ring},
    {"mount", mounts}, {"mount-bind", binds}, {"umount", unmounts}, {"fsopen", opens_system},
    {"open_tree", opens_tree}, {"fspick", picks}, {"mount_setattr", sets_mount},
    {"pivot_root", pivots}, {"chroot", changes_root}, {"unshare-users", unshare_users},
    {"unshare-mounts", unshare_mounts}, {"unshare-network", unshare_network},
    {"setns", joins}, {"setns-pidfd", joins_process}, {"clone-users", clones},
    {"clone3-users", clones3}, {"open_by_handle_at", opens_handle}, {"type-ahead", types},
    {"fanotify", watches_all}, {"syslog", reads_log}, {"capabilities", capabilities},
    {"new-privileges", privileges}, {NULL, NULL},
};

// MARK: Objects of IPC: run.py has made one of each kind outside

static key_t key(void) { return (key_t)told_number("key"); }
static long finds_memory(void) { return shmget(key(), 1, 0600); }
static long attaches(void) {
    void *memory = shmat(told_number("memory"), NULL, 0);
    return memory == (void *)-1 ? -1 : 0;
}
static long makes_memory(void) { return shmget(IPC_PRIVATE, 4096, 0600); }
static long finds_semaphore(void) { return semget(key(), 1, 0600); }
static long sets_semaphore(void) { return semctl(told_number("semaphore"), 0, SETVAL, 7); }
static long waits_semaphore(void) {
    struct sembuf operation = {0, 1, IPC_NOWAIT};
    return semop(told_number("semaphore"), &operation, 1);
}
static long makes_semaphore(void) { return semget(IPC_PRIVATE, 1, 0600); }
static long finds_messages(void) { return msgget(key(), 0600); }
static long sends_message(void) {
    struct { long kind; char text[8]; } message = {1, "attack"};
    return msgsnd(told_number("messages"), &message, sizeof message.text, IPC_NOWAIT);
}
static long makes_messages(void) { return msgget(IPC_PRIVATE, 0600); }
static long opens_queue(void) { return syscall(SYS_mq_open, told("queue"), O_RDWR, 0, NULL); }
static long makes_queue(void) {
    char name[NAME_MAX];
    snprintf(name, sizeof name, "%s-new", told("queue"));
    return syscall(SYS_mq_open, name, O_RDWR | O_CREAT, 0600, NULL);
}
static long removes_queue(void) { return syscall(SYS_mq_unlink, told("queue")); }

const struct attempt objects[] = {
    {"shmget", finds_memory}, {"shmat", attaches}, {"shmget-new", makes_memory},
    {"semget", finds_semaphore}, {"semctl", sets_semaphore}, {"semop", waits_semaphore},
    {"semget-new", makes_semaphore}, {"msgget", finds_messages}, {"msgsnd", sends_message},
    {"msgget-new", makes_messages}, {"mq_open", opens_queue}, {"mq_open-new", makes_queue},
    {"mq_unlink", removes_queue}, {NULL, NULL},
};

// MARK: What a program needs

static int mine(void) { return open(inside, O_CREAT | O_RDWR, 0600); }
static long writes(void) {
    int file = mine();
    return write(file, "text", 4) == 4 && lseek(file, 0, SEEK_SET) == 0 ? ftruncate(file, 2) : -1;
}
static long renames(void) {
    char other[PATH_MAX + 8];
    snprintf(other, sizeof other, "%s.other", inside);
    close(mine());
    return rename(inside, other);
}
static long directories(void) {
    char other[PATH_MAX + 8];
    if (mkdir(inside, 0700) != 0) return -1;
    snprintf(other, sizeof other, "%s/file", inside);
    if (close(open(other, O_CREAT | O_WRONLY, 0600)) != 0 || unlink(other) != 0) return -1;
    return rmdir(inside);
}
static long symbolic(void) { return symlink("x", inside); }
static long removes(void) {
    close(mine());
    return unlink(inside);
}
static long pair(void) {
    int ends[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || write(ends[0], "x", 1) != 1) return -1;
    return read(ends[1], &byte, 1) == 1 ? 0 : -1;
}
static long forks(void) {
    int status;
    pid_t child = fork();
    if (child == 0) _exit(7);
    return child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7 ? 0 : -1;
}
static long signals_own(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        pause();
    }
    if (child < 0 || kill(child, SIGKILL) != 0) return -1;
    return waitpid(child, &status, 0) == child && WTERMSIG(status) == SIGKILL ? 0 : -1;
}
static long executes(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7 ? 0 : -1;
}
static long devices(void) {
    char byte;
    int null = open("/dev/null", O_RDWR), random = open("/dev/urandom", O_RDONLY);
    return write(null, "x", 1) == 1 && read(random, &byte, 1) == 1 ? 0 : -1;
}
static long itself(void) { return open("plugin.json", O_RDONLY); }
static long named_directory(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/inside", told("reads"));
    return print_file(path);
}
static long named_file(void) { return print_file(told("list")); }

const struct attempt own[] = {
    {"write", writes}, {"rename", renames}, {"directory", directories}, {"symlink", symbolic},
    {"unlink", removes}, {"socketpair", pair}, {"fork", forks}, {"kill-child", signals_own},
    {"execute", executes}, {"devices", devices}, {"folder", itself},
    {"named-directory", named_directory}, {"named-file", named_file}, {NULL, NULL},
};
