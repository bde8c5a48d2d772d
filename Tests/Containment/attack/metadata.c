// SPDX-License-Identifier: MIT
// Modes, owners, times and attributes of files, and their names.
#define _GNU_SOURCE
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <utime.h>

enum { MODE = 0666, OLD_TIME = 86400 };

// Calls whose numbers all architectures share, and which headers may lack.
enum { FCHMODAT2 = 452, SETXATTRAT = 463, REMOVEXATTRAT = 466, FILE_SETATTR = 469 };

#define ATTRIBUTE "user.attack"
#define PRESENT "user.mine"

static const struct timespec times[2] = {{.tv_sec = OLD_TIME}, {.tv_sec = OLD_TIME}};

static int reader(void) { return open(target_file, O_RDONLY | O_NONBLOCK); }
static int handle(void) { return open(target_file, O_PATH); }

// A name of a descriptor, by which some calls can be made that the descriptor itself refuses.
static const char *through(int descriptor) {
    static char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return path;
}

#ifdef SYS_chmod
static long do_chmod(void) { return syscall(SYS_chmod, target_file, MODE); }
static long do_chmod_directory(void) { return syscall(SYS_chmod, target_directory, 0777); }
static long do_chmod_link(void) { return syscall(SYS_chmod, target_link, MODE); }
static long do_chown(void) { return syscall(SYS_chown, target_file, getuid(), getgid()); }
static long do_lchown(void) { return syscall(SYS_lchown, target_link, getuid(), getgid()); }
static long do_utime(void) {
    struct utimbuf at = {OLD_TIME, OLD_TIME};
    return syscall(SYS_utime, target_file, &at);
}
static long do_utimes(void) {
    struct timeval at[2] = {{OLD_TIME, 0}, {OLD_TIME, 0}};
    return syscall(SYS_utimes, target_file, at);
}
static long do_futimesat(void) {
    struct timeval at[2] = {{OLD_TIME, 0}, {OLD_TIME, 0}};
    return syscall(SYS_futimesat, AT_FDCWD, target_file, at);
}
#endif
static long do_chmod_setuid(void) {
    return syscall(SYS_fchmodat, AT_FDCWD, target_file, 06755);
}
static long do_fchmod(void) {
    int file = reader();
    return file < 0 ? -1 : syscall(SYS_fchmod, file, MODE);
}
static long do_fchmod_directory(void) {
    int file = open(target_directory, O_RDONLY | O_DIRECTORY);
    return file < 0 ? -1 : syscall(SYS_fchmod, file, 0777);
}
static long do_fchmodat(void) { return syscall(SYS_fchmodat, AT_FDCWD, target_file, MODE); }
static long do_fchmodat_through(void) {
    int file = handle();
    return file < 0 ? -1 : syscall(SYS_fchmodat, AT_FDCWD, through(file), MODE);
}
static long do_fchmodat2(void) { return syscall(FCHMODAT2, AT_FDCWD, target_file, MODE, 0); }
static long do_fchmodat2_empty(void) {
    int file = handle();
    return file < 0 ? -1 : syscall(FCHMODAT2, file, "", MODE, AT_EMPTY_PATH);
}
static long do_fchown(void) {
    int file = reader();
    return file < 0 ? -1 : syscall(SYS_fchown, file, getuid(), getgid());
}
static long do_fchownat(void) {
    return syscall(SYS_fchownat, AT_FDCWD, target_file, getuid(), getgid(), 0);
}
static long do_fchownat_empty(void) {
    int file = handle();
    return file < 0 ? -1 : syscall(SYS_fchownat, file, "", getuid(), getgid(), AT_EMPTY_PATH);
}
static long do_utimensat(void) { return syscall(SYS_utimensat, AT_FDCWD, target_file, times, 0); }
static long do_utimensat_link(void) {
    return syscall(SYS_utimensat, AT_FDCWD, target_link, times, AT_SYMLINK_NOFOLLOW);
}
static long do_utimensat_empty(void) {
    int file = handle();
    return file < 0 ? -1 : syscall(SYS_utimensat, file, "", times, AT_EMPTY_PATH);
}
static long do_futimens(void) {
    int file = reader();
    return file < 0 ? -1 : syscall(SYS_utimensat, file, NULL, times, 0);
}
static long do_setxattr(void) { return syscall(SYS_setxattr, target_file, ATTRIBUTE, "x", 1, 0); }
static long do_setxattr_through(void) {
    int file = handle();
    return file < 0 ? -1 : syscall(SYS_setxattr, through(file), ATTRIBUTE, "x", 1, 0);
}
static long do_lsetxattr(void) {
    return syscall(SYS_lsetxattr, target_file, ATTRIBUTE, "x", 1, 0);
}
static long do_fsetxattr(void) {
    int file = reader();
    return file < 0 ? -1 : syscall(SYS_fsetxattr, file, ATTRIBUTE, "x", 1, 0);
}
static long do_setxattrat(void) {
    struct { uint64_t value; uint32_t size, flags; } arguments = {(uintptr_t)"x", 1, 0};
    return syscall(SETXATTRAT, AT_FDCWD, target_file, 0, ATTRIBUTE, &arguments, sizeof arguments);
}
static long do_removexattr(void) { return syscall(SYS_removexattr, target_file, PRESENT); }
static long do_lremovexattr(void) { return syscall(SYS_lremovexattr, target_file, PRESENT); }
static long do_fremovexattr(void) {
    int file = reader();
    return file < 0 ? -1 : syscall(SYS_fremovexattr, file, PRESENT);
}
static long do_removexattrat(void) {
    return syscall(REMOVEXATTRAT, AT_FDCWD, target_file, 0, PRESENT);
}
static long do_setflags(void) {
    int flags = 0, file = reader();
    if (file < 0 || ioctl(file, FS_IOC_GETFLAGS, &flags) != 0) return -1;
    flags |= FS_NODUMP_FL;
    return ioctl(file, FS_IOC_SETFLAGS, &flags);
}
static long do_fssetxattr(void) {
    struct fsxattr attributes;
    int file = reader();
    if (file < 0 || ioctl(file, FS_IOC_FSGETXATTR, &attributes) != 0) return -1;
    attributes.fsx_xflags |= FS_XFLAG_NODUMP;
    return ioctl(file, FS_IOC_FSSETXATTR, &attributes);
}
static long do_file_setattr(void) {
    struct { uint64_t flags; uint32_t rest[4]; } attributes = {FS_XFLAG_NODUMP, {0}};
    return syscall(FILE_SETATTR, AT_FDCWD, target_file, &attributes, sizeof attributes, 0);
}

const struct attempt metadata[] = {
#ifdef SYS_chmod
    {"chmod", do_chmod}, {"chmod-directory", do_chmod_directory}, {"chmod-link", do_chmod_link},
    {"chown", do_chown}, {"lchown", do_lchown}, {"utime", do_utime}, {"utimes", do_utimes},
    {"futimesat", do_futimesat},
#endif
    {"chmod-setuid", do_chmod_setuid}, {"fchmod", do_fchmod},
    {"fchmod-directory", do_fchmod_directory}, {"fchmodat", do_fchmodat},
    {"fchmodat-through", do_fchmodat_through}, {"fchmodat2", do_fchmodat2},
    {"fchmodat2-empty", do_fchmodat2_empty}, {"fchown", do_fchown}, {"fchownat", do_fchownat},
    {"fchownat-empty", do_fchownat_empty}, {"utimensat", do_utimensat},
    {"utimensat-link", do_utimensat_link}, {"utimensat-empty", do_utimensat_empty},
    {"futimens", do_futimens}, {"setxattr", do_setxattr},
    {"setxattr-through", do_setxattr_through}, {"lsetxattr", do_lsetxattr},
    {"fsetxattr", do_fsetxattr}, {"setxattrat", do_setxattrat},
    {"removexattr", do_removexattr}, {"lremovexattr", do_lremovexattr},
    {"fremovexattr", do_fremovexattr}, {"removexattrat", do_removexattrat},
    {"setflags", do_setflags}, {"fssetxattr", do_fssetxattr}, {"file_setattr", do_file_setattr},
    {NULL, NULL},
};
