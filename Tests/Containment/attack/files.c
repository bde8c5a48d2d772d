// SPDX-License-Identifier: MIT
// What files say, what they are called, and what is handed over as a descriptor.
#define _GNU_SOURCE
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>

// MARK: Contents

static long put(int file) {
    if (file < 0) return -1;
    return write(file, "attacked", 8) == 8 ? 0 : -1;
}

static long open_with(const char *path, int flags) {
    return syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

static long write_only(void) { return put((int)open_with(target_file, O_WRONLY)); }
static long read_write(void) { return put((int)open_with(target_file, O_RDWR)); }
static long through_link(void) { return put((int)open_with(target_link, O_WRONLY)); }
static long append(void) { return put((int)open_with(target_file, O_WRONLY | O_APPEND)); }
static long open_truncate(void) { return open_with(target_file, O_RDONLY | O_TRUNC); }
static long create(void) { return put((int)open_with(target_new, O_CREAT | O_WRONLY)); }
static long create_readable(void) { return open_with(target_new, O_CREAT | O_RDONLY); }
static long do_openat2(void) {
    struct open_how how = {.flags = O_WRONLY};
    return put((int)syscall(SYS_openat2, AT_FDCWD, target_file, &how, sizeof how));
}
static long reopen(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", open(target_file, O_PATH));
    return put((int)open_with(path, O_WRONLY));
}
static long temporary(void) { return put((int)open_with(target_above, O_TMPFILE | O_WRONLY)); }
static long do_truncate(void) { return syscall(SYS_truncate, target_file, 1); }
static long unlinkat_file(void) { return syscall(SYS_unlinkat, AT_FDCWD, target_file, 0); }
static long unlinkat_directory(void) {
    return syscall(SYS_unlinkat, AT_FDCWD, target_directory, AT_REMOVEDIR);
}
static long do_mkdirat(void) { return syscall(SYS_mkdirat, AT_FDCWD, target_new, 0700); }
static long do_symlinkat(void) { return syscall(SYS_symlinkat, "x", AT_FDCWD, target_new); }
static long mknodat_pipe(void) {
    return syscall(SYS_mknodat, AT_FDCWD, target_new, S_IFIFO | 0600, 0);
}
static long mknodat_file(void) {
    return syscall(SYS_mknodat, AT_FDCWD, target_new, S_IFREG | 0600, 0);
}
#ifdef SYS_open
static long do_open(void) { return put((int)syscall(SYS_open, target_file, O_WRONLY)); }
static long do_creat(void) { return put((int)syscall(SYS_creat, target_new, 0600)); }
static long do_unlink(void) { return syscall(SYS_unlink, target_file); }
static long do_rmdir(void) { return syscall(SYS_rmdir, target_directory); }
static long do_mkdir(void) { return syscall(SYS_mkdir, target_new, 0700); }
static long do_symlink(void) { return syscall(SYS_symlink, "x", target_new); }
static long do_mknod(void) { return syscall(SYS_mknod, target_new, S_IFIFO | 0600, 0); }
#endif

const struct attempt contents[] = {
    {"write", write_only}, {"read-write", read_write}, {"link", through_link},
    {"append", append}, {"open-truncate", open_truncate}, {"create", create},
    {"create-readable", create_readable}, {"openat2", do_openat2}, {"reopen", reopen},
    {"tmpfile", temporary}, {"truncate", do_truncate}, {"unlinkat", unlinkat_file},
    {"unlinkat-directory", unlinkat_directory}, {"mkdirat", do_mkdirat},
    {"symlinkat", do_symlinkat}, {"mknodat-pipe", mknodat_pipe}, {"mknodat-file", mknodat_file},
#ifdef SYS_open
    {"open", do_open}, {"creat", do_creat}, {"unlink", do_unlink}, {"rmdir", do_rmdir},
    {"mkdir", do_mkdir}, {"symlink", do_symlink}, {"mknod", do_mknod},
#endif
    {NULL, NULL},
};

// MARK: Names

static const char *mine(void) {
    close((int)open_with(inside, O_CREAT | O_WRONLY));
    return inside;
}

static long rename_flags(const char *from, const char *to, unsigned flags) {
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
}

static long do_renameat(void) {
#ifdef SYS_renameat
    return syscall(SYS_renameat, AT_FDCWD, target_file, AT_FDCWD, target_new);
#else
    return rename_flags(target_file, target_new, 0);
#endif
}
static long do_renameat2(void) { return rename_flags(target_file, target_new, RENAME_NOREPLACE); }
static long rename_directory(void) { return rename_flags(target_directory, target_new, 0); }
static long exchange(void) { return rename_flags(target_file, target_link, RENAME_EXCHANGE); }
static long exchange_mine(void) { return rename_flags(mine(), target_file, RENAME_EXCHANGE); }
static long rename_in(void) { return rename_flags(target_file, inside, 0); }
static long rename_out(void) { return rename_flags(mine(), target_new, 0); }
static long rename_over(void) { return rename_flags(mine(), target_file, 0); }
static long link_paths(const char *from, const char *to, int flags) {
    return syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, flags);
}
static long do_linkat(void) { return link_paths(target_file, target_new, 0); }
static long link_in(void) { return link_paths(target_file, inside, 0); }
static long link_out(void) { return link_paths(mine(), target_new, 0); }
static long link_through(void) {
    char path[64];
    int file = open(target_file, O_PATH);
    if (file < 0) return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return link_paths(path, inside, AT_SYMLINK_FOLLOW);
}
static long link_empty(void) {
    int file = open(target_file, O_PATH);
    return file < 0 ? -1
        : syscall(SYS_linkat, file, "", AT_FDCWD, inside, AT_EMPTY_PATH);
}
#ifdef SYS_rename
static long do_rename(void) { return syscall(SYS_rename, target_file, target_new); }
static long do_link(void) { return syscall(SYS_link, target_file, target_new); }
#endif

const struct attempt names[] = {
    {"renameat", do_renameat}, {"renameat2", do_renameat2},
    {"rename-directory", rename_directory}, {"exchange", exchange},
    {"exchange-mine", exchange_mine}, {"rename-in", rename_in}, {"rename-out", rename_out},
    {"rename-over", rename_over}, {"linkat", do_linkat}, {"link-in", link_in},
    {"link-out", link_out}, {"link-through", link_through}, {"link-empty", link_empty},
#ifdef SYS_rename
    {"rename", do_rename}, {"link", do_link},
#endif
    {NULL, NULL},
};

// MARK: What can be seen of others' files

static long do_read(void) { return print_file(target_file); }
static long read_link(void) { return print_file(target_link); }
static long list(void) {
    char entries[4096];
    int file = open(target_above, O_RDONLY | O_DIRECTORY);
    return file < 0 ? -1 : syscall(SYS_getdents64, file, entries, sizeof entries);
}
static long do_stat(void) {
    struct stat facts;
    return fstatat(AT_FDCWD, target_file, &facts, 0);
}
static long do_readlink(void) {
    char value[PATH_MAX];
    return syscall(SYS_readlinkat, AT_FDCWD, target_link, value, sizeof value);
}
static long do_access(void) { return syscall(SYS_faccessat, AT_FDCWD, target_file, F_OK); }
static long do_getxattr(void) {
    char value[64];
    return syscall(SYS_getxattr, target_file, "user.mine", value, sizeof value);
}
static long go_there(void) { return syscall(SYS_chdir, target_directory); }
static long watch(void) {
    int file = (int)syscall(SYS_inotify_init1, 0);
    return file < 0 ? -1 : syscall(SYS_inotify_add_watch, file, target_above, IN_ALL_EVENTS);
}
static int reader(void) { return open(target_file, O_RDONLY | O_NONBLOCK); }
static long lock(void) {
    int file = reader();
    return file < 0 ? -1 : syscall(SYS_flock, file, LOCK_EX | LOCK_NB);
}
static long lock_part(void) {
    struct flock part = {.l_type = F_RDLCK};
    int file = reader();
    return file < 0 ? -1 : fcntl(file, F_OFD_SETLK, &part);
}
static long lease(void) {
    int file = reader();
    return file < 0 ? -1 : fcntl(file, F_SETLEASE, F_RDLCK);
}
static long notify(void) {
    int file = open(target_above, O_RDONLY | O_DIRECTORY);
    return file < 0 ? -1 : fcntl(file, F_NOTIFY, DN_CREATE);
}

const struct attempt sights[] = {
    {"read", do_read}, {"read-link", read_link}, {"list", list}, {"stat", do_stat},
    {"readlink", do_readlink}, {"access", do_access}, {"getxattr", do_getxattr},
    {"chdir", go_there}, {"watch", watch}, {"lock", lock}, {"lock-part", lock_part},
    {"lease", lease}, {"notify", notify}, {NULL, NULL},
};

// MARK: Descriptors: whether the file behind one of its own can be changed is seen outside

static long each(long (*change)(int)) {
    int is_done = 0;
    for (int number = 0; number < 13; number++) is_done |= change(number) >= 0;
    return is_done - 1;
}

static long change_mode(int number) { return syscall(SYS_fchmod, number, 0666); }
static long change_times(int number) {
    return syscall(SYS_utimensat, number, NULL, NULL, 0);
}
static long set_attribute(int number) {
    return syscall(SYS_fsetxattr, number, "user.attack", "x", 1, 0);
}
static long shorten(int number) { return syscall(SYS_ftruncate, number, 0); }
static long open_again(int number) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", number);
    struct stat facts;
    if (fstat(number, &facts) != 0 || !S_ISREG(facts.st_mode)) return -1;
    return put((int)open_with(path, O_WRONLY));
}

static long fd_mode(void) { return each(change_mode); }
static long fd_times(void) { return each(change_times); }
static long fd_attribute(void) { return each(set_attribute); }
static long fd_shorten(void) { return each(shorten); }
static long fd_open(void) { return each(open_again); }

const struct attempt descriptors[] = {
    {"fchmod", fd_mode}, {"futimens", fd_times}, {"fsetxattr", fd_attribute},
    {"ftruncate", fd_shorten}, {"reopen", fd_open}, {NULL, NULL},
};
