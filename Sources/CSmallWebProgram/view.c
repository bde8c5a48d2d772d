// SPDX-License-Identifier: MIT
// The file system that a program sees: a small mount namespace, read-only except for its temporary
// directory.
#define _GNU_SOURCE
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// <sys/mount.h> and <linux/mount.h> cannot be included together in all releases of glibc.
int mount(const char *, const char *, const char *, unsigned long, const void *);
int umount2(const char *, int);
enum { DETACH = 2 };

// Numbers that are the same on all architectures, and that the headers may lack.
enum { OPEN_TREE = 428, MOVE_MOUNT = 429, OPEN_AT = 437, SET_ATTRIBUTES = 442 };
enum { CLONE_TREE = 1, FROM_DESCRIPTOR = 4, WHOLE_TREE = 0x8000 };

// Since Linux 6.14 a PID namespace has its own limit. It is for root, whom RLIMIT_NPROC does not
// limit; the kernel accepts no less than 301.
#define PIDS_MAX "1024"

const char *const view_places[] = {
    // Programs, libraries and their data.
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
    // The dynamic loader.
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
    // Names of commands, as Debian chooses them: links into /usr.
    "/etc/alternatives",
    // Names of users.
    "/etc/nsswitch.conf", "/etc/passwd", "/etc/group",
    // The time zone.
    "/etc/localtime",
    // TLS libraries: certificates of authorities and settings, no keys.
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/crypto-policies",
    "/etc/gnutls", "/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust",
    // Only devices without data. A terminal would expose the user's input.
    "/dev/null", "/dev/zero", "/dev/urandom", NULL};

const char *const *swprogram_places(void) { return view_places; }

// Names of things that a program has anyway.
static const char *const links[][2] = {
    {"/dev/fd", "/proc/self/fd"},
    {"/dev/stdin", "/proc/self/fd/0"},
    {"/dev/stdout", "/proc/self/fd/1"},
    {"/dev/stderr", "/proc/self/fd/2"},
};

// MARK: Paths of the new root

struct view {
    char path[PATH_MAX];        // the new root, followed by a path in it
    size_t root_length;
};

// `path` in the new root; NULL when it is too long.
static char *inside(struct view *view, const char *path) {
    size_t length = strlen(path);
    if (path[0] != '/' || view->root_length + length >= sizeof view->path) return NULL;
    memcpy(view->path + view->root_length, path, length + 1);
    return view->path;
}

// Makes missing directories above it.
static void make_parents(struct view *view, char *target) {
    for (char *slash = target + view->root_length + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(target, 0755);
        *slash = '/';
    }
}

static int set_attributes(int directory, const char *path, unsigned flags, uint64_t attributes) {
    struct mount_attr change = {.attr_set = attributes};
    return (int)syscall(
        SET_ATTRIBUTES, directory, path, flags | AT_EMPTY_PATH, &change, sizeof change);
}

int view_open_unlinked(const char *path) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    return (int)syscall(OPEN_AT, AT_FDCWD, path, &how, sizeof how);
}

// Mounts `path`, read-only, in the new root; with `place`, the file that this descriptor has
// opened. A missing path is left out; -1 when it cannot be mounted.
static int show_at(struct view *view, int place, const char *path) {
    int tree = (int)syscall(
        OPEN_TREE, place, place < 0 ? path : "",
        CLONE_TREE | WHOLE_TREE | O_CLOEXEC | (place < 0 ? 0 : AT_EMPTY_PATH));
    if (tree < 0) return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -1;
    struct stat facts;
    char *target = inside(view, path);
    int status = -1;
    if (target && fstat(tree, &facts) == 0) {
        int is_device = S_ISCHR(facts.st_mode);
        make_parents(view, target);
        if (S_ISDIR(facts.st_mode)) {
            mkdir(target, 0755);
        } else {
            mknod(target, S_IFREG | 0644, 0);
        }
        uint64_t attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID
            | (is_device ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV);
        if (set_attributes(tree, "", WHOLE_TREE, attributes) == 0)
            status = (int)syscall(MOVE_MOUNT, tree, "", AT_FDCWD, target, FROM_DESCRIPTOR);
    }
    close(tree);
    return status;
}

// If `path` is a link, makes the same link in the new root and returns 1.
static int show_link(struct view *view, const char *path) {
    char text[PATH_MAX];
    ssize_t length = readlink(path, text, sizeof text - 1);
    if (length <= 0) return 0;
    text[length] = '\0';
    char *target = inside(view, path);
    if (!target) return -1;
    make_parents(view, target);
    return symlink(text, target) == 0 ? 1 : -1;
}

static int show(struct view *view, const char *path) { return show_at(view, AT_FDCWD, path); }

// A path that has become a link since it was checked is left out, like a missing one.
static int show_unlinked(struct view *view, const char *path) {
    int place = view_open_unlinked(path);
    if (place < 0) return 0;
    int status = show_at(view, place, path);
    close(place);
    return status;
}

// MARK: The whole

int view_mount_proc(const char *path, int has_users) {
    if (mount("proc", path, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) return 0;
    // Refused before Linux 6.14, where the limit would be the machine's.
    char limit[PATH_MAX + 32];
    snprintf(limit, sizeof limit, "%s/sys/kernel/pid_max", path);
    int file = has_users ? open(limit, O_WRONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        (void)!write(file, PIDS_MAX, strlen(PIDS_MAX));
        close(file);
    }
    // On top, since Linux 5.8, one with processes alone: other files tell machines apart.
    (void)mount("proc", path, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid");
    return 1;
}

static int show_all(struct view *view, const struct swprogram *program) {
    // On many systems /bin and the like are links into /usr.
    for (const char *const *path = view_places; *path; path++)
        if ((strchr(*path + 1, '/') || show_link(view, *path) == 0) && show(view, *path) != 0)
            return -1;
    for (const char *const *path = program->places; *path; path++)
        if (show_link(view, *path) == 0 && show(view, *path) != 0) return -1;
    for (const char *const *path = program->reads; *path; path++)
        if (show_unlinked(view, *path) != 0) return -1;
    for (unsigned index = 0; index < sizeof links / sizeof *links; index++) {
        char *target = inside(view, links[index][0]);
        if (!target) return -1;
        make_parents(view, target);
        if (symlink(links[index][1], target) != 0) return -1;
    }
    return 0;
}

// A memory file system of the size that the program may use.
static int mount_temporary(const char *path, const struct swprogram *program) {
    char options[96];
    uint64_t files = program->memory_bytes / (16 << 10);
    snprintf(options, sizeof options, "mode=700,size=%llu,nr_inodes=%llu",
        (unsigned long long)program->memory_bytes,
        (unsigned long long)(files < 1024 ? 1024 : files));
    return mount("smallweb", path, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

static int mount_own_proc(const char *path, int has_users) {
    return view_mount_proc(path, has_users)
        && set_attributes(AT_FDCWD, path, 0, MOUNT_ATTR_RDONLY) == 0;
}

// The machine's /proc: each copy mounts its own over it, which the kernel allows only if one is
// visible.
static int show_proc(struct view *view) {
    int tree = (int)syscall(OPEN_TREE, AT_FDCWD, "/proc", CLONE_TREE | WHOLE_TREE | O_CLOEXEC);
    if (tree < 0) return 0;
    int status =
        (int)syscall(MOVE_MOUNT, tree, "", AT_FDCWD, inside(view, "/proc"), FROM_DESCRIPTOR);
    close(tree);
    return status == 0;
}

static int enter(const struct swprogram *program, int is_shared, int has_users, int *has_proc) {
    static struct view view;
    *has_proc = 0;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return 0;
    view.root_length = strlen(program->temporary);
    if (view.root_length >= sizeof view.path) return 0;
    memcpy(view.path, program->temporary, view.root_length + 1);
    // The mount point is the future temporary directory: it is empty, and this program's alone. A
    // long link takes a page, which may have 64 KiB.
    if (mount("smallweb", program->temporary, "tmpfs", MS_NOSUID | MS_NODEV,
            "mode=755,size=16m,nr_inodes=4096") != 0)
        return 0;
    char *proc = inside(&view, "/proc");
    mkdir(proc, 0755);
    // Before the machine's /proc is hidden: the kernel allows a new one only if one is visible.
    *has_proc = is_shared ? show_proc(&view) : mount_own_proc(proc, has_users);
    int status = show_all(&view, program);
    char *temporary = inside(&view, program->temporary);
    if (!temporary) status = -1;
    if (status == 0) {
        make_parents(&view, temporary);
        mkdir(temporary, 0700);
        if (!is_shared) status = mount_temporary(temporary, program);
    }
    if (status == 0) status = set_attributes(AT_FDCWD, program->temporary, 0, MOUNT_ATTR_RDONLY);
    if (status == 0) status = chdir(program->temporary);
    if (status == 0) status = (int)syscall(SYS_pivot_root, ".", ".");
    if (status == 0) {
        // The old root now lies on top of the new one.
        if (umount2(".", DETACH) == 0 && chdir("/") == 0) return 1;
        _exit(1);
    }
    umount2(program->temporary, DETACH);
    *has_proc = 0;
    return 0;
}

int view_enter(const struct swprogram *program, int has_users, int *has_proc) {
    return enter(program, 0, has_users, has_proc);
}

int view_share(const struct swprogram *program) {
    int has_proc;
    return enter(program, 1, 1, &has_proc) && has_proc;
}

int view_copy(const struct swprogram *program) {
    return mount_own_proc("/proc", 1) && mount_temporary(program->temporary, program) == 0;
}
