# SPDX-License-Identifier: MIT
"""Which errors are worth injecting into which system call: what its manual page names and a real
machine brings about. SKIPPED has the calls that are left alone, and why."""

import re

OPEN = ["EACCES", "EMFILE", "ENFILE", "ENOENT", "EIO", "EINTR"]
MAKE = OPEN + ["ENOSPC", "EROFS"]
STAT = ["EACCES", "ENOENT", "EIO", "ENOMEM"]
FSTAT = ["EIO", "ENOMEM"]
RENAME = ["EBUSY", "EXDEV", "EACCES", "ENOSPC", "EIO"]
LINK = ["EPERM", "EMLINK", "EACCES", "ENOSPC", "EIO"]
UNLINK = ["EBUSY", "EACCES", "EROFS", "EIO"]
MKDIR = ["EACCES", "ENOSPC", "EROFS"]
MODE = ["EPERM", "EROFS", "EIO"]
SYNC = ["EIO", "ENOSPC", "EINTR"]
WAIT = ["EINTR"]
DESCRIPTOR = ["EMFILE", "ENFILE", "ENOMEM"]

ERRORS = {
    "open": OPEN, "openat": OPEN, "creat": MAKE,
    "read": ["EIO", "EINTR"], "pread64": ["EIO", "EINTR"], "readv": ["EIO", "EINTR"],
    "write": ["ENOSPC", "EIO", "EDQUOT", "EFBIG", "EINTR"],
    "pwrite64": ["ENOSPC", "EIO", "EINTR"], "writev": ["ENOSPC", "EIO", "EINTR"],
    "copy_file_range": ["EIO", "ENOSPC", "EXDEV"], "sendfile": ["EIO", "ENOMEM"],
    # What a network file system reports only here.
    "close": ["EIO", "ENOSPC"],
    "stat": STAT, "lstat": STAT, "fstat": FSTAT, "newfstatat": STAT, "statx": STAT,
    "statfs": STAT, "fstatfs": ["EIO"],
    "access": STAT, "faccessat": STAT, "faccessat2": STAT,
    "readlink": ["EACCES", "EIO", "EINVAL"], "readlinkat": ["EACCES", "EIO", "EINVAL"],
    "getdents64": ["EIO", "ENOENT"], "getcwd": ["ENOENT", "EACCES"],
    "lseek": ["EOVERFLOW", "EIO"],
    "rename": RENAME, "renameat": RENAME, "renameat2": RENAME + ["EINVAL"],
    "link": LINK, "linkat": LINK, "symlink": LINK, "symlinkat": LINK,
    "unlink": UNLINK, "unlinkat": UNLINK, "rmdir": UNLINK,
    "mkdir": MKDIR, "mkdirat": MKDIR,
    "chmod": MODE, "fchmod": MODE, "fchmodat": MODE, "fchown": MODE, "utimensat": MODE,
    "fsetxattr": ["EOPNOTSUPP", "ENOSPC", "EIO"], "fgetxattr": ["EOPNOTSUPP", "EIO"],
    "fremovexattr": ["EOPNOTSUPP", "EIO"],
    "ftruncate": ["EIO", "EPERM", "EINTR"], "fallocate": ["ENOSPC", "EOPNOTSUPP", "EINTR"],
    "fsync": SYNC, "fdatasync": SYNC,
    "flock": ["ENOLCK", "EINTR"], "fcntl": ["EMFILE", "EINVAL"],
    "dup": ["EMFILE"], "dup2": ["EMFILE"], "dup3": ["EMFILE"],
    "pipe2": DESCRIPTOR[:2], "eventfd2": DESCRIPTOR, "signalfd4": DESCRIPTOR,
    "timerfd_create": DESCRIPTOR, "timerfd_settime": ["EINVAL"],
    "timer_create": ["EAGAIN", "ENOMEM"], "timer_settime": ["EINVAL"],
    "socket": ["EMFILE", "ENFILE", "ENOBUFS", "EACCES", "EAFNOSUPPORT"],
    "socketpair": ["EMFILE", "ENFILE"],
    "connect": ["ECONNREFUSED", "ENETUNREACH", "EHOSTUNREACH", "ETIMEDOUT", "EADDRNOTAVAIL",
                "EPERM"],
    "bind": ["EADDRINUSE", "EACCES"], "shutdown": ["ENOTCONN"],
    "getsockname": ["ENOBUFS"], "getpeername": ["ENOTCONN"],
    "getsockopt": ["ENOPROTOOPT"], "setsockopt": ["ENOPROTOOPT", "ENOMEM"],
    "sendto": ["ECONNRESET", "EPIPE", "ENOBUFS", "EINTR"],
    "sendmsg": ["ECONNRESET", "EPIPE", "ENOBUFS", "EINTR"], "sendmmsg": ["ENOBUFS", "EINTR"],
    "recvfrom": ["ECONNRESET", "ETIMEDOUT", "ENOMEM", "EINTR"],
    "recvmsg": ["ECONNRESET", "ENOMEM", "EINTR"],
    "poll": ["EINTR", "ENOMEM"], "ppoll": ["EINTR", "ENOMEM"],
    "epoll_create1": DESCRIPTOR, "epoll_ctl": ["ENOMEM", "ENOSPC"],
    "epoll_wait": WAIT, "epoll_pwait": WAIT, "epoll_pwait2": WAIT,
    "getrandom": ["EINTR", "ENOSYS"],
    "mmap": ["ENOMEM"], "mremap": ["ENOMEM"], "mprotect": ["ENOMEM"], "munmap": ["ENOMEM"],
    "madvise": ["EAGAIN"], "mlock": ["ENOMEM", "EPERM"],
    "clone": ["EAGAIN", "ENOMEM"], "clone3": ["EAGAIN", "ENOMEM", "ENOSYS"],
    "prlimit64": ["EPERM"], "getrlimit": ["EFAULT"], "ioctl": ["ENOTTY"],
}

SKIPPED = {
    "they never fail, or only by a mistake in their arguments": [
        "arch_prctl", "exit", "exit_group", "futex", "getegid", "geteuid", "getgid", "getpid",
        "getppid", "gettid", "getuid", "rseq", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
        "sched_getaffinity", "sched_yield", "set_robust_list", "set_tid_address", "sigaltstack",
        "sysinfo", "umask", "uname", "clock_gettime", "clock_nanosleep", "restart_syscall",
    ],
    "it returns the old break, not an error; glibc then asks mmap": ["brk"],
    "they would not be run at all": ["execve", "kill", "tgkill"],
}

# A call that was interrupted is made again: the run must end as if nothing had happened.
INVISIBLE = {"EINTR"}

# Files that libc and other libraries read for themselves. They are on local disks, where nothing is
# interrupted, and not ours to read again.
SYSTEM_FILE = re.compile(r'["<]/(etc|lib|lib64|usr|proc|sys)/')


def errors_of(name, arguments):
    """The errors for one call, by what is behind its opening parenthesis in a trace."""
    errors = ERRORS.get(name, [])
    if name == "openat" and "O_CREAT" in arguments:
        errors = MAKE
    if name == "newfstatat" and "AT_EMPTY_PATH" in arguments:
        errors = FSTAT
    # An eventfd is on no disk.
    if "<anon_inode:[eventfd]>" in arguments:
        errors = [error for error in errors if error == "EINTR"]
    if SYSTEM_FILE.search(arguments):
        errors = [error for error in errors if error != "EINTR"]
    return errors
