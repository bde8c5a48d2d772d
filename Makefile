# SPDX-License-Identifier: MIT
# make            build the release binary          make demo     see it work, on loopback
# make test       what a change is tested with: debug build, no root, nothing installed for it
# make test-release  the release binary against servers that others wrote
# make test-all   everything that is tested         make install    PREFIX= DESTDIR=
# make bench      ratios against rivals and a floor  make fuzz     SECONDS=120
#                 into docs/bench; CASES="start git" runs these alone
# make counts     instructions and allocations, held against docs/bench/counts.json
# make fuzz-night HOURS=8 JOBS=2: the optimised fuzzers in turns; what they find goes into the corpus
# make fuzz-coverage  lines of each parser that the corpus reaches
# make faults     every system call fails once; SECONDS= for a sample
# make crawl      a million lines of ten thousand hosts
# make git-oracle SOURCES=...  fifty repositories made at random, and such directories: git is right
# make pages-oracle SOURCES=...  2,000 pages of such directories: links and words are html5lib's
# make soak       hostile and honest servers for SECONDS=600
# make sanitize   the suite under TSan and ASan      make format   the source style
# make generated  man/, completions/ and the entry of the desktop from the tables
# make deb        a Debian package in .build/deb
# make dist       what a release consists of, in .build/dist (docs/RELEASING.md)
# make dist-check .build/dist once more, from a copy of the sources elsewhere: the same bytes
# make dist-roots .build/dist in bare Debian roots and in a container; needs root
# make dist-arm64 the files for arm64 in .build/dist-arm64, cross-built and tried by qemu; needs root
# make pictures   docs/pictures, from the release binary in a real terminal
# make web        the manual and the documents as a web site in .build/web
# make api        writes the public declarations into docs/api, which make docc compares
# make docc       the documentation of the library, as the Swift Package Index makes it, in .build/docc/html

PREFIX ?= /usr/local
DESTDIR ?=
# How long fuzz, faults and soak take; each has a default of its own.
SECONDS ?=
# What bench measures: files of Tests/Benchmark/cases; all of them by default.
CASES ?=
# Targets whose parts test-all leaves out, since they have run: "test test-release".
LESS ?=
# It is a variable of less(1), too.
unexport LESS
# Why counts are changed: writes them.
WHY ?=
# Which fuzzers fuzz runs, safe or fast; both by default.
FUZZERS ?=
# How long fuzz-night takes, and how many fuzzers run at a time.
HOURS ?= 8
JOBS ?= 2

# The command of the toolchain, perhaps of several words (`swiftly run swift`): the newest in PATH.
SWIFT ?= $(shell .ci/swift)
SWIFT := $(SWIFT)
# Where libstdc++.a and libgcc_eh.a are, if not where the toolchain finds them: of another root.
LIBSTDCXX ?=
BIN := .build/release/smallweb
# Servers: those for debugging are there after make test; where time is measured they are fast.
SERVERS := .build/debug/smallweb-loopback
LOOPBACK := .build/release/smallweb-loopback

# The Swift runtime and libstdc++ go into the binary: it starts in half the time, and runs where no
# Swift is installed. An archive alone in a directory that is searched first is what links it.
# Nothing asks the binary for a symbol, so it exports none. Each function is a section, so that those
# which are not used go. There is no debugging information: `make install` would strip it. Nothing is optimised at link time: it takes a minute and
# gives less than 5 % (docs/decisions/0028-minutes.md).
# Without the import of regular expressions that every file has, a call that would link them is an
# error. Types that are known here are not looked up by their names at run time.
# Others build the same bytes: the path of this directory is not in the binary (make dist-check).
STATIC_LIBS := .build/static-libs
RELEASE_FLAGS := -c release --static-swift-stdlib --disable-local-rpath \
	-debug-info-format none \
	-Xswiftc -use-ld=lld -Xlinker --icf=safe -Xlinker --no-export-dynamic -Xlinker -L$(STATIC_LIBS) \
	-Xswiftc -Xfrontend -Xswiftc -disable-implicit-string-processing-module-import \
	-Xswiftc -Xfrontend -Xswiftc -function-sections \
	-Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors \
	-Xcc -DSMALLWEB_OWNS_PROCESS \
	-Xcc -ffile-prefix-map=$(CURDIR)=. -Xswiftc -file-prefix-map -Xswiftc $(CURDIR)=.

.PHONY: all build deps test-deps all-deps static-libs install install-files install-docs uninstall \
	deb deb-files dist dist-check dist-roots dist-arm64 generated \
	test test-release test-all unit unit-proxies unit-commands \
	unit-more-commands unit-programs unit-poll unit-address manual \
	debug-binaries examples tests servers protocols more-protocols terminals git more-git proxies \
	programs more-programs containment one-containment shells packages documents pairs \
	demo bench counts fuzz fuzz-night fuzz-coverage faults crawl crawls crawl-space git-oracle \
	pages-oracle soak loopback pictures web docc api sanitize format lint clean

all: build

build: deps static-libs
	$(SWIFT) build $(RELEASE_FLAGS) $(VARIANT) --product smallweb

deps:
	@SWIFT='$(SWIFT)' .ci/deps build

# What `make test` needs: as commands, whoever installed them.
test-deps:
	@for command in openssl python3 git; do \
		command -v $$command >/dev/null || { SWIFT='$(SWIFT)' .ci/deps test; exit; }; done

# What the tests of the release binary need besides.
all-deps:
	@SWIFT='$(SWIFT)' .ci/deps all

static-libs:
	@mkdir -p $(STATIC_LIBS)
	@clang=$$(dirname "$$(readlink -f "$$(command -v $(firstword $(SWIFT)))")")/clang; \
	[ -x "$$clang" ] || clang=g++; \
	for pair in libstdc++.a:libstdc++.a libgcc_eh.a:libgcc_s.a; do \
		archive=$(if $(LIBSTDCXX),$(LIBSTDCXX)/$${pair%%:*},$$($$clang -print-file-name=$${pair%%:*})); \
		if [ -f "$$archive" ]; then ln -sf "$$archive" $(STATIC_LIBS)/$${pair##*:}; fi; \
	done

BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
# Debian's zsh looks for a package's completions elsewhere than for the site's.
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
PLUGINS := $(PREFIX)/share/smallweb/plugins
FIXTURES := $(PREFIX)/share/smallweb/fixtures
FISH_COMPLETIONS ?= $(PREFIX)/share/fish/vendor_completions.d

install: build install-files

install-files:
	install -s -Dm755 $(BIN) $(DESTDIR)$(PREFIX)/bin/smallweb
	for schema in docs/schema/*.json; do install -Dm644 "$$schema" \
		"$(DESTDIR)$(PREFIX)/share/smallweb/schema/$${schema##*/}" || exit 1; done
	for page in man/*.[157]; do install -Dm644 "$$page" \
		"$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}" || exit 1; done
	for manifest in Plugins/*/plugin.json; do plugin=$${manifest%/plugin.json}; \
		(cd "$$plugin" && find . -type f) | while read -r file; do \
		mode=644; if [ -x "$$plugin/$$file" ]; then mode=755; fi; \
		install -Dm$$mode "$$plugin/$$file" "$(DESTDIR)$(PLUGINS)/$$(basename "$$plugin" \
			| tr A-Z a-z)/$$file" || exit 1; done || exit 1; done
	for folder in Tests/PluginTests/Fixtures/*/; do install -Dm644 \
		-t "$(DESTDIR)$(FIXTURES)/$$(basename "$$folder")" "$$folder"*.wire || exit 1; done
	install -Dm644 docs/packaging/smallweb.desktop \
		$(DESTDIR)$(PREFIX)/share/applications/smallweb.desktop
	install -Dm644 completions/smallweb.bash $(DESTDIR)$(BASH_COMPLETIONS)/smallweb.bash
	install -Dm644 completions/_smallweb $(DESTDIR)$(ZSH_COMPLETIONS)/_smallweb
	install -Dm644 completions/smallweb.fish $(DESTDIR)$(FISH_COMPLETIONS)/smallweb.fish

# Not part of install: packages alone have a directory for documents. They lie in it as they do
# here, so that their links lead to each other.
install-docs:
	find README.md CHANGELOG.md docs Sources/*/*.docc \
		\( -name packaging -o -name .build -o -name __pycache__ \) -prune -o -type f -print \
		| while read -r file; do mode=644; if [ -x "$$file" ]; then mode=755; fi; \
		install -Dm$$mode "$$file" "$(DESTDIR)$(PREFIX)/share/doc/smallweb/$$file" || exit 1; done

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/smallweb \
		$(DESTDIR)$(PREFIX)/share/applications/smallweb.desktop
	for schema in docs/schema/*.json; do \
		rm -f "$(DESTDIR)$(PREFIX)/share/smallweb/schema/$${schema##*/}"; done
	for manifest in Plugins/*/plugin.json; do \
		rm -rf "$(DESTDIR)$(PLUGINS)/$$(basename "$${manifest%/plugin.json}" | tr A-Z a-z)"; done
	for folder in Tests/PluginTests/Fixtures/*/; do \
		rm -rf "$(DESTDIR)$(FIXTURES)/$$(basename "$$folder")"; done
	for page in man/*.[157]; do rm -f \
		"$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}"; done
	rm -f $(DESTDIR)$(BASH_COMPLETIONS)/smallweb.bash $(DESTDIR)$(ZSH_COMPLETIONS)/_smallweb \
		$(DESTDIR)$(FISH_COMPLETIONS)/smallweb.fish

deb: build deb-files

deb-files:
	.ci/deb $(BIN) .build/deb

dist: build
	rm -rf .build/dist
	SWIFT='$(SWIFT)' .ci/dist $(BIN) .build/dist

dist-check: dist
	.ci/dist-check .build/dist

dist-roots: all-deps dist
	$(SWIFT) build --product smallweb-loopback
	Tests/Packaging/roots.sh .build/dist .build/debug/smallweb-loopback .build/roots

dist-arm64:
	$(SWIFT) build --product smallweb-loopback
	.ci/dist-arm64 .build/debug/smallweb-loopback .build/dist-arm64 .build/roots/arm64

# After a change of a table: what is made of it.
generated:
	$(SWIFT) build --product smallweb-manual
	.build/debug/smallweb-manual docs .

# Each part is a target of its own, and parts.sh sums up. docs/CONTRIBUTING.md says what each costs.
# The longest come first: three run at a time, since they wait for half of it.
TEST_PARTS := unit-commands unit-more-commands unit-programs unit unit-proxies manual
RELEASE_PARTS := git terminals protocols one-containment programs
OTHER_PARTS := containment proxies examples fuzz more-git more-protocols shells faults documents \
	more-programs packages crawls unit-poll
# containment is one-containment in the other modes as well.
ALL_PARTS := $(OTHER_PARTS) $(filter-out one-containment,$(RELEASE_PARTS)) $(TEST_PARTS)
PARTS_OF_test := $(TEST_PARTS)
PARTS_OF_test-release := $(RELEASE_PARTS)
REST := $(filter-out $(foreach target,$(LESS),$(PARTS_OF_$(target))),$(ALL_PARTS))

# What parts need not look at again.
DONE := $(addprefix -o ,deps test-deps all-deps build tests debug-binaries)

test:
	@echo "make test builds smallweb and its tests for debugging (five minutes on two cores, when" \
		"nothing is built) and runs them for five. It needs no root, unless what the build" \
		"needs is missing, and skips what needs a program that is not there."
	@$(MAKE) --no-print-directory tests
	@Tests/parts.sh '$(MAKE) $(DONE)' $(TEST_PARTS)

test-release:
	@echo "make test-release installs some sixty packages, if they are missing, builds the release" \
		"binary (three minutes on two cores, when nothing is built) and tests it for five against" \
		"servers that others wrote."
	@$(MAKE) --no-print-directory all-deps build
	@Tests/parts.sh '$(MAKE) $(DONE)' $(RELEASE_PARTS)

# Instructions are counted when nothing else runs.
test-all:
	@echo "make test-all installs some sixty packages, if they are missing, builds everything (ten" \
		"minutes on two cores, when nothing is built) and tests it for fifteen, with fuzzers and" \
		"failing system calls."
	@$(MAKE) --no-print-directory all-deps tests build
	@Tests/parts.sh '$(MAKE) $(DONE)' $(REST)
	@$(MAKE) --no-print-directory $(DONE) counts

# Tests that wait for processes block the few threads that all tests of a run share: they get runs of
# their own, so that none of the others waits for them beyond its time limit, and several, so that one
# computes while another waits. And a process that has just been forked has all sockets of the tests,
# some of which count theirs. Tests of proxies have both: processes, and connections that a server keeps
# for a while.
COMMAND_TESTS := ^CommandLineTests[.][A-ORT]
MORE_COMMAND_TESTS := ^CommandLineTests[.][PQSU-Z]
PROGRAM_TESTS := ^(PluginTests[.]|SmallWebTransportTests[.]ContainedProcessTests|SmallWebTests[.](ProcessState|OthersHandler)Tests)
PROXY_TESTS := ^SmallWebTests[.](Hostile)?ProxyTests
# Options of another build than the usual one, such as a sanitizer, and where that lies.
VARIANT ?=
VARIANT_PATH ?= .build
# All tests at once would wait for each other beyond their time limits. `swift test` would wait for
# what builds the release binary meanwhile.
RUN_TESTS = NO_COLOR=1 SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=16 \
	$(VARIANT_PATH)/debug/smallwebPackageTests.xctest --testing-library swift-testing

# The debug binaries, too.
tests: deps test-deps
	$(SWIFT) build --build-tests $(VARIANT) $$(SWIFT='$(SWIFT)' .ci/overlay $(VARIANT_PATH)/overlay)

unit: tests
	$(RUN_TESTS) --skip '^CommandLineTests[.]' --skip '$(PROGRAM_TESTS)' --skip '$(PROXY_TESTS)'

unit-proxies: tests
	$(RUN_TESTS) --filter '$(PROXY_TESTS)'

unit-commands: tests
	$(RUN_TESTS) --filter '$(COMMAND_TESTS)'

unit-more-commands: tests
	$(RUN_TESTS) --filter '$(MORE_COMMAND_TESTS)'

unit-programs: tests
	$(RUN_TESTS) --filter '$(PROGRAM_TESTS)'

# What reads and writes, once more with poll(2) in place of epoll(7); all tests with POLL_TESTS=.
POLL_TESTS ?= ^(SmallWebTransportTests|SmallWebTests|SmallWebTestingTests)[.]
unit-poll: tests
	SMALLWEB_POLL=1 $(RUN_TESTS) --filter '$(POLL_TESTS)' --skip '$(PROGRAM_TESTS)'

# Every example of the manual and of README.md, in a network of its own.
manual: debug-binaries
	Tests/Shells/examples.sh .build/debug/smallweb

# docs/examples: the packages, built as such, and the clients in other languages; docs/recipes.md.
examples: all-deps debug-binaries
	SWIFT='$(SWIFT)' Tests/Examples/run.sh .build/debug/smallweb-loopback
	Tests/Examples/clients.sh .build/debug/smallweb .build/debug/smallweb-loopback
	Tests/Examples/fsspec.sh .build/debug/smallweb .build/debug/smallweb-loopback
	Tests/Examples/mcp.sh .build/debug/smallweb
	Tests/Recipes/run.sh .build/debug/smallweb

debug-binaries: deps
	$(SWIFT) build --product smallweb-loopback
	$(SWIFT) build --product smallweb

# The release binary against servers that others wrote.
servers: git more-git proxies protocols more-protocols programs more-programs terminals

protocols: all-deps build
	Tests/RealServers/run.sh $(BIN) gophernicus spartan molly-brown

more-protocols: all-deps build
	BIG_MIB=256 Tests/RealServers/run.sh $(BIN) pygopherd gopher-python efingerd nex jetforce keys nginx

# What is about terminals, pipes, files and TLS.
terminals: all-deps build
	Tests/RealServers/run.sh $(BIN) tls streams files terminal reading progress trust

git: all-deps build
	Tests/RealServers/run.sh $(BIN) git

# What a repository's history has, servers other than git's own, and repositories made at random.
more-git: all-deps build
	Tests/RealServers/run.sh $(BIN) git-more
	Tests/RealServers/git-oracle.py $(BIN) --repositories 4

proxies: all-deps build
	Tests/RealServers/run.sh $(BIN) proxies

programs: all-deps build
	Tests/RealServers/run.sh $(BIN) programs archive

more-programs: all-deps build
	Tests/RealServers/run.sh $(BIN) doors workers archive-blocks
	Tests/Recipes/hostile.py $(BIN)

# Spaces that judge crawls by their logs, and mirrors of others' servers.
crawls: all-deps build
	Tests/RealServers/run.sh $(BIN) crawl mirrors
	.build/jetforce/bin/python Tests/RealServers/robots-files.py $(BIN)

# The same with more pages; it takes some minutes.
crawl-space: all-deps build
	CRAWL_PAGES=2000 Tests/RealServers/run.sh $(BIN) crawl

one-containment: all-deps build
	Tests/Containment/run.py $(BIN) --mode full

containment: all-deps build
	Tests/Containment/run.py $(BIN) --check docs/SECURITY.md

shells: all-deps build
	Tests/Shells/run.sh $(BIN)

packages: all-deps build
	Tests/Packaging/run.sh $(BIN)

# All pairs of options of each command that fetches, on the debug binary: five minutes, by hand.
pairs: debug-binaries
	python3 Tests/Pairs/run.py .build/debug/smallweb .build/debug/smallweb-loopback

# The documentation of the library, the web site, charts and pictures.
documents: all-deps build docc
	Tests/Web/run.sh
	python3 Tests/Benchmark/charts.py --check docs/bench
	Tests/Pictures/run.sh --check $(BIN)

pictures: all-deps build
	Tests/Pictures/run.sh $(BIN)

web: all-deps
	python3 docs/packaging/web.py .build/web

# From the modules of the debug build, which the tests have made.
docc: debug-binaries
	SWIFT='$(SWIFT)' python3 docs/packaging/docc.py .build/debug .build/docc

# The public declarations, after a change that is wanted.
api: debug-binaries
	SWIFT='$(SWIFT)' python3 docs/packaging/docc.py .build/debug .build/docc --update

# With the flags of the binary, or everything is compiled again for each of them.
loopback: deps static-libs
	$(SWIFT) build $(RELEASE_FLAGS) $(VARIANT) --product smallweb-loopback

demo:
	@echo "make demo builds smallweb and servers to try it on, for debugging (two minutes on two cores," \
		"when nothing is built), and fetches from each scheme (5 seconds)."
	@$(MAKE) --no-print-directory debug-binaries
	@Tests/Loopback/demo.sh .build/debug/smallweb .build/debug/smallweb-loopback

bench: all-deps build loopback
	Tests/Benchmark/run.sh $(BIN) $(LOOPBACK) $(CASES)

counts: all-deps build debug-binaries
	Tests/Benchmark/counts.py $(if $(WHY),--update '$(WHY)') $(BIN) $(SERVERS)

fuzz: deps
	Tests/Fuzz/run.py fuzz --seconds $(or $(SECONDS),120) --jobs $(JOBS) $(addprefix --build ,$(FUZZERS))

fuzz-night: deps
	Tests/Fuzz/run.py night --hours $(HOURS) --jobs $(JOBS)

fuzz-coverage: deps
	Tests/Fuzz/run.py coverage --jobs $(JOBS)

faults: all-deps build debug-binaries
	python3 Tests/Faults/run.py $(BIN) $(SERVERS) $(if $(SECONDS),--seconds $(SECONDS))

# A million lines of ten thousand hosts: some 45 minutes. Only CI and this install Spark, 500 MB.
crawl: build
	CI=true .ci/deps all
	unshare -r -n Tests/RealServers/crawl.py $(BIN) \
		--python .build/spark/bin/python $(or $(WAYS),one killed parallel spark)

git-oracle: build
	Tests/RealServers/git-oracle.py $(BIN) --sources $(SOURCES)

# Debian's python3-doc, git-doc, apache2-doc, sqlite3-doc, debian-policy, cmake-doc and
# python-django-doc have enough.
pages-oracle: all-deps build
	.build/jetforce/bin/python Tests/RealServers/pages-oracle.py $(BIN) \
		$(or $(SOURCES),/usr/share/doc)

soak: all-deps build loopback
	python3 Tests/Faults/soak.py $(BIN) $(LOOPBACK) $(or $(SECONDS),600)

sanitize: all-deps
	@JOBS=1 VARIANT_PATH=.build/thread VARIANT='--scratch-path .build/thread --sanitize=thread' \
		Tests/parts.sh '$(MAKE)' unit unit-proxies unit-commands unit-more-commands unit-programs \
		unit-address

unit-address: all-deps
	LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/leaks.supp $(SWIFT) test -c release \
		--scratch-path .build/address --sanitize=address --disable-xctest -Xswiftc -enable-testing

format:
	$(SWIFT) format -i -r Package.swift Sources Plugins Tests docs/examples

lint:
	$(SWIFT) format lint -s -r Package.swift Sources Plugins Tests docs/examples

clean:
	rm -rf .build
