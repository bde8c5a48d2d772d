// SPDX-License-Identifier: MIT
import Glibc
import SmallWebCore
import Testing

@testable import SmallWebTransport

/// A program that tries an action forbidden to plugins.
struct HostileProgram: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let words: [String]
    /// Reason of its end; `nil` if it does not end by itself, and prints `waiting`.
    let reason: ProgramEnding.Reason?
    /// Expected output.
    let output: String
    let limits: ProgramRequest.Limits
    /// Means of containment that the result depends on; empty if all ways have the same result.
    let needs: Containment.Means

    private init(
        _ name: String, _ words: [String], _ reason: ProgramEnding.Reason?, _ output: String,
        needs: Containment.Means, _ change: (inout ProgramRequest.Limits) -> Void
    ) {
        testDescription = name
        self.words = words
        self.reason = reason
        self.output = output
        self.needs = needs
        var limits = ProgramRequest.Limits()
        change(&limits)
        self.limits = limits
    }

    private static func sh(
        _ name: String, _ source: String, _ reason: ProgramEnding.Reason? = .exited(0),
        _ output: String = "", needs: Containment.Means = [],
        _ change: (inout ProgramRequest.Limits) -> Void = { _ in }
    ) -> HostileProgram {
        HostileProgram(name, ["sh", "-c", source], reason, output, needs: needs, change)
    }

    private static func perl(
        _ name: String, _ source: String, _ reason: ProgramEnding.Reason? = .exited(0),
        _ output: String = "", needs: Containment.Means = [],
        _ change: (inout ProgramRequest.Limits) -> Void = { _ in }
    ) -> HostileProgram {
        HostileProgram(
            name, ["perl", "-e", "$| = 1; " + source], reason, output, needs: needs, change)
    }

    static let all = endings + processes + resources + files + network + others

    private static let endings =
        [SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGKILL, SIGSEGV, SIGPIPE, SIGTERM].map { signal in
            sh("dies of signal \(signal)", "kill -\(signal) $$; sleep 9", .signalled(signal))
        } + [
            sh("exits with 7", "exit 7", .exited(7)),
            sh("exits with 255", "exit 255", .exited(255)),
            sh("stops itself", "echo waiting; kill -STOP $$", nil, "waiting\n"),
            sh("is silent", "echo waiting; sleep 1000", nil, "waiting\n"),
            perl(
                "is endless, and ignores what it can",
                "$SIG{$_} = 'IGNORE' for keys %SIG; print qq(waiting\\n); 1 while sleep 1",
                nil, "waiting\n"),
            perl(
                "closes everything, and stays",
                "print qq(waiting\\n); use POSIX; POSIX::close($_) for 0..63; 1 while sleep 1",
                nil, "waiting\n"),
        ]

    private static let processes = [
        sh("leaves a child", "sleep 1000 & exit 0"),
        sh("leaves children that hold its pipes", "for i in 1 2 3; do sleep 1000 & done"),
        perl(
            "leaves a daemon",
            """
            use POSIX; $SIG{$_} = 'IGNORE' for qw(HUP TERM INT);
            if (!fork) { POSIX::setsid(); if (!fork) { POSIX::setsid(); 1 while sleep 1 } exit }
            wait
            """),
        perl(
            "leaves a tree",
            """
            use POSIX; sub grow { my $n = shift; for (1..2) {
            if (!fork) { POSIX::setsid(); grow($n - 1) if $n; 1 while sleep 1 } } }
            grow(2); select undef, undef, undef, 0.2
            """),
        perl(
            "leaves a process that is never the same",
            """
            if (!fork) { for (1..100000) { exit if fork; select undef, undef, undef, 0.0005 } }
            select undef, undef, undef, 0.1
            """),
        perl(
            "forks and forks",
            """
            my $n = 0; while ($n < 2000) { my $p = fork; last if !defined $p;
            if (!$p) { 1 while sleep 1 } $n++ } print $n < 2000 ? 'bounded' : $n; 1 while sleep 1
            """, nil, geteuid() == 0 ? "more than 64 processes" : "bounded", needs: .watch),
        sh(
            "stops its children", "for i in 1 2 3; do sh -c 'kill -STOP $$' & done; sleep 0.1"),
        perl(
            "kills its parent",
            """
            kill 9, getppid; kill 19, getppid; kill 15, getppid;
            select undef, undef, undef, 0.1; print 'alive'
            """, .exited(0), "alive"),
        // Signal 0 asks only whether another would be sent.
        perl("signals smallweb", "print kill(0, $ENV{SMALLWEB_PID})", .exited(0), "0"),
        perl(
            "signals everyone", "print kill(0, -1) ? 'sent' : 'refused'", .exited(0), "refused",
            // With Landlock alone the kernel says 0, and signals none.
            needs: .pids),
    ]

    private static let resources = [
        perl(
            "eats memory", "my $s = 'x' x (2 << 30); print 'got it'", .exited(12), "Out of memory"),
        perl(
            "eats descriptors",
            "my @f; while (open my $f, '<', '/dev/null') { push @f, $f } print 5 + @f < 64",
            .exited(0), "1"),
        sh(
            "eats processor time", "while :; do :; done", .signalled(SIGXCPU)
        ) { $0.processorSeconds = 1 },
        perl(
            "does not listen when its processor time is up",
            "$SIG{XCPU} = 'IGNORE'; 1 while 1", .signalled(SIGKILL)
        ) { $0.processorSeconds = 1 },
        sh(
            "writes too large a file",
            "exec dd if=/dev/zero of=\"$TMPDIR/large\" bs=1M seek=200 count=1",
            .signalled(SIGXFSZ)
        ) { $0.memoryBytes = 100 << 20 },
        perl(
            "eats memory by several processes",
            """
            for (1..12) { fork or last } my $s = 'x' x (20 << 20); 1 while sleep 1
            """, nil, "more than the 67108864 bytes", needs: .watch
        ) { $0.memoryBytes = 64 << 20 },
        perl(
            "fills its temporary directory",
            """
            for my $n (1..640) { open my $f, '>', "$ENV{TMPDIR}/$n" or next;
            syswrite $f, 'x' x (1 << 20) } my $s = 'x' x (8 << 20); 1 while sleep 1
            """, nil, "more than the 67108864 bytes", needs: .watch
        ) { $0.memoryBytes = 64 << 20 },
        perl(
            "fills its temporary directory with files that have no name",
            """
            my @all; for my $n (1..40) { open my $f, '>', "$ENV{TMPDIR}/$n" or last;
            unlink "$ENV{TMPDIR}/$n"; push @all, $f; syswrite $f, 'x' x (16 << 20) }
            my $s = 'x' x (8 << 20); 1 while sleep 1
            """, nil, "more than the 67108864 bytes", needs: .watch
        ) { $0.memoryBytes = 64 << 20 },
        sh(
            "raises its limits", "ulimit -Hn 4096 || ulimit -Hn", .exited(0), "64\n"),
    ]

    private static let files = [
        sh(
            "writes into the home directory", "echo x > \"$SMALLWEB_HOME/new\" || echo refused",
            .exited(0), "refused\n", needs: .landlock),
        sh(
            "reads the home directory", "cat \"$SMALLWEB_HOME/secret\" || echo refused",
            .exited(0), "refused\n", needs: .landlock),
        sh(
            "lists the home directory", "ls \"$SMALLWEB_HOME\" || echo refused",
            .exited(0), "refused\n", needs: .landlock),
        sh(
            "writes beside its temporary directory",
            "echo x > \"$TMPDIR-beside\" || mkdir \"$TMPDIR-beside\" || echo refused",
            .exited(0), "refused\n", needs: .landlock),
        sh(
            "writes into its own folder", "echo x > new || echo refused", .exited(0), "refused\n",
            needs: .landlock),
        sh(
            "reads terminals",
            "ls /dev/pts || cat /dev/ptmx || echo refused; head -c 9 /dev/zero | wc -c",
            .exited(0), "refused\n9\n", needs: .landlock),
        sh(
            "moves its temporary directory", "mv \"$TMPDIR\" \"$TMPDIR-moved\" || echo refused",
            .exited(0), "refused\n", needs: .landlock),
        sh(
            "leaves files that cannot be removed easily",
            """
            cd "$TMPDIR"; mkdir -p a/b/c d; echo x > a/b/c/x; ln -s "$SMALLWEB_HOME" home
            ln -s /etc/passwd d/passwd; mkfifo d/pipe; chmod 0 a/b/c/x a/b/c a/b a d .; echo ok
            """, .exited(0), "ok\n"),
        perl(
            "leaves a deep directory",
            "chdir $ENV{TMPDIR}; for (1..3000) { mkdir 'd' or die; chdir 'd' or die } print 'deep'",
            .exited(0), "deep", needs: .view),
        perl(
            "takes the names that removal uses",
            """
            chdir $ENV{TMPDIR}; for (1..20) { mkdir "smallweb-plugin-$_";
            mkdir "smallweb-plugin-$_/sub"; mkdir "smallweb-plugin-$_/sub/sub" }
            """),
        perl(
            "locks its temporary directory",
            "open my $d, '<', $ENV{TMPDIR}; flock($d, 6)"),
        perl(
            "changes metadata of its folder",
            """
            my @done = (chmod(0777, '.'), chown($>, $), '.'), utime(1, 1, '.'),
            rename('.', '../moved'), link('/etc/passwd', 'x'));
            print join ' ', map { $_ || 0 } @done
            """, .exited(0), "0 0 0 0 0"),
        sh(
            "makes a file that others may run",
            """
            cd "$TMPDIR" && echo x > a && { chmod 4777 a || echo refused; } && mv a b
            """, .exited(0), needs: .landlock),
    ]

    private static let network =
        [
            (2, "IPv4"), (10, "IPv6"), (16, "netlink"), (17, "packet"), (31, "Bluetooth"),
            (38, "crypto"), (40, "vsock"), (44, "XDP"),
        ].flatMap { family, name in
            [1, 2, 3].map { kind in
                perl(
                    "opens a socket of \(name), kind \(kind)",
                    "print socket(my $s, \(family), \(kind), 0) ? 'open' : $!{EACCES}",
                    .exited(0), "13", needs: .seccomp)
            }
        } + [
            perl(
                "reaches a local socket",
                """
                use Socket; print socket(my $s, AF_UNIX, SOCK_STREAM, 0) ? 'open' : $!{EACCES};
                socketpair(my $a, my $b, AF_UNIX, SOCK_DGRAM, 0) or die;
                print send($a, 'x', 0, pack_sockaddr_un('/run/x')) ? 'sent' : $!{EPERM};
                print send($a, 'x', 0)
                """, .exited(0), "1311", needs: .seccomp),
            perl(
                "has a pair of sockets",
                "use Socket; print socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0)",
                .exited(0), "1"),
            perl(
                "uses io_uring", "print syscall(425, 1, 0), ' ', $!{EPERM}", .exited(0), "-1 1",
                needs: .seccomp),
        ]

    private static let others = [
        sh("makes a namespace", "unshare -U true 2>&1 || echo refused", .exited(0), "refused"),
        sh(
            "mounts", "mount -t tmpfs none /mnt 2>&1 || echo refused", .exited(0), "refused"),
        sh(
            "looks for privileges",
            "exec grep -c -E '^(CapEff|CapPrm|CapInh):\\s0+$|^NoNewPrivs:\\s1$' /proc/self/status",
            .exited(0), "4\n"),
        sh(
            "reads the environment of smallweb",
            "cat /proc/$SMALLWEB_PID/environ /proc/$PPID/environ || echo refused", .exited(0),
            "refused"),
        sh(
            "reads the memory of its parent", "cat /proc/$PPID/mem || echo refused", .exited(0),
            "refused"),
        sh(
            "opens the files of its parent",
            "readlink /proc/$PPID/fd/6 || cat /proc/$PPID/fd/6 || echo refused", .exited(0),
            "refused"),
        perl(
            "sees its descriptors alone",
            "opendir my $d, '/proc/self/fd'; print join ' ', sort grep /\\d/, readdir $d",
            .exited(0), "0 1 2 3 4 5 6"),
        perl(
            "sees its own processes alone",
            "opendir my $d, '/proc'; print 0 + grep /^\\d+$/, readdir $d", .exited(0), "2",
            needs: .proc),
        perl(
            "traces its parent",
            """
            my $n = `uname -m` =~ /aarch64/ ? 117 : 101;
            print syscall($n, 16, getppid, 0, 0), ' ', $!{EPERM}
            """, .exited(0), "-1 1", needs: .seccomp),
        perl(
            "sends to a terminal",
            "my $x = 'x'; print ioctl(STDIN, 0x5412, $x) ? 'sent' : $!{ENOTTY}; open my $t, '+<',"
                + " '/dev/tty' and print 'open'",
            .exited(0), "25", needs: .seccomp),
    ]
}
