# SPDX-License-Identifier: MIT
# make            build the release binary          make test     everything that is tested
# make install    PREFIX= DESTDIR=                   make demo     see it work, on loopback
# make bench      ratios against rivals and a floor  make fuzz     SECONDS=120
#                 into docs/bench; CASES="start git" runs these alone
# make start-order  the order of functions and variables in the binary, from a few starts
# make counts     instructions and allocations, held against docs/bench/counts.json
# make fuzz-night HOURS=8 JOBS=2: the optimised fuzzers in turns; what they find goes into the corpus
# make fuzz-coverage  lines of each parser that the corpus reaches
# make faults     every system call fails once; SECONDS= for a sample
# make crawl      a million lines of ten thousand hosts
# make soak       hostile and honest servers for SECONDS=600
# make sanitize   the suite under TSan and ASan      make format   the source style
# make generated  man/, completions/ and the entry of the desktop from the tables
# make deb        a Debian package in .build/deb
# make pictures   docs/pictures, from the release binary in a real terminal
# make web        the manual as web pages in .build/web
# make docc       the documentation of the library as web pages in .build/docc/html, for a server

PREFIX ?= /usr/local
DESTDIR ?=
# How long fuzz, faults and soak take; each has a default of its own.
SECONDS ?=
# What bench measures: files of Tests/Benchmark/cases; all of them by default.
CASES ?=
# Why counts are changed: writes them.
WHY ?=
# Which fuzzers fuzz runs, safe or fast; both by default.
FUZZERS ?=
# How long fuzz-night takes, and how many fuzzers run at a time.
HOURS ?= 8
JOBS ?= 2

SWIFT ?= swift
BIN := .build/release/smallweb
LOOPBACK := .build/release/smallweb-loopback

# The Swift runtime and libstdc++ go into the binary: it starts in half the time, and runs where no
# Swift is installed. An archive alone in a directory that is searched first is what links it.
# Nothing asks the binary for a symbol, so it exports none. Modules are optimised together. Each
# function and variable is a section, so that those which are not used go, and those of a start lie
# side by side (make start-order).
# Without the import of regular expressions that every file has, a call that would link them is an
# error. Types that are known here are not looked up by their names at run time.
STATIC_LIBS := .build/static-libs
RELEASE_FLAGS := -c release --static-swift-stdlib --disable-local-rpath \
	--experimental-lto-mode full \
	-Xswiftc -use-ld=lld -Xlinker --icf=safe -Xlinker --no-export-dynamic -Xlinker -L$(STATIC_LIBS) \
	-Xswiftc -Xfrontend -Xswiftc -disable-implicit-string-processing-module-import \
	-Xswiftc -Xfrontend -Xswiftc -function-sections \
	-Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors \
	-Xcc -DSMALLWEB_OWNS_PROCESS \
	-Xlinker --symbol-ordering-file=docs/packaging/start-order.txt -Xlinker --no-warn-symbol-ordering

.PHONY: all build deps test-deps static-libs install install-files uninstall deb deb-files generated test unit examples real demo bench counts start-order fuzz fuzz-night fuzz-coverage faults \
	crawl soak loopback pictures web docc sanitize format lint clean

all: build

build: deps static-libs
	@# SwiftPM does not know that the linker reads it.
	@if [ docs/packaging/start-order.txt -nt $(BIN) ]; then rm -f $(BIN); fi
	$(SWIFT) build $(RELEASE_FLAGS) --product smallweb

deps:
	@.ci/deps build

test-deps:
	@.ci/deps test

static-libs:
	@mkdir -p $(STATIC_LIBS)
	@clang=$$(dirname "$$(readlink -f "$$(command -v $(SWIFT))")")/clang; \
	for pair in libstdc++.a:libstdc++.a libgcc_eh.a:libgcc_s.a; do \
		archive=$$($$clang -print-file-name=$${pair%%:*}); \
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

# After a change of a table: what is made of it.
generated:
	$(SWIFT) build --product smallweb-manual
	.build/debug/smallweb-manual docs .

# The debug build runs the suite; the release binary is what the real servers meet.
test: unit examples docc real

# Tests that wait for processes block the few threads that all tests share: they get a run of their
# own, so that none of the others waits for them beyond its time limit. And a process that has just
# been forked has all sockets of the tests, some of which count theirs. Tests of proxies have both:
# processes, and connections that a server keeps for a while.
PROCESS_TESTS := ^(CommandLineTests[.]|PluginTests[.]|SmallWebTransportTests[.]ContainedProcessTests)
PROXY_TESTS := ^SmallWebTests[.](Hostile)?ProxyTests
TEST := Tests/failures-last.sh $(SWIFT) test --skip-build --disable-xctest

unit: test-deps
	$(SWIFT) build --build-tests
	$(TEST) --skip '$(PROCESS_TESTS)' --skip '$(PROXY_TESTS)'
	$(TEST) --filter '$(PROXY_TESTS)'
	$(TEST) --filter '$(PROCESS_TESTS)'

# docs/examples: the packages, built as such, and the clients in other languages.
examples: test-deps
	$(SWIFT) build --product smallweb-loopback
	$(SWIFT) build --product smallweb
	SWIFT='$(SWIFT)' Tests/Examples/run.sh .build/debug/smallweb-loopback
	Tests/Examples/clients.sh .build/debug/smallweb .build/debug/smallweb-loopback
	Tests/Recipes/run.sh .build/debug/smallweb

real: test-deps build
	Tests/RealServers/run.sh $(BIN)
	Tests/Containment/run.py $(BIN) --check docs/SECURITY.md
	Tests/Shells/run.sh $(BIN)
	Tests/Pictures/run.sh --check $(BIN)
	python3 Tests/Benchmark/charts.py --check docs/bench

pictures: test-deps build
	Tests/Pictures/run.sh $(BIN)

web: test-deps
	python3 docs/packaging/web.py .build/web

# From the modules of the debug build, which the tests have made.
docc: deps
	$(SWIFT) build --product smallweb
	SWIFT='$(SWIFT)' python3 docs/packaging/docc.py .build/debug .build/docc

# With the flags of the binary, or everything is compiled anew for each of them.
loopback: deps static-libs
	$(SWIFT) build $(RELEASE_FLAGS) --product smallweb-loopback

demo: build loopback
	Tests/Loopback/demo.sh $(BIN) $(LOOPBACK)

bench: test-deps build loopback
	Tests/Benchmark/run.sh $(BIN) $(LOOPBACK) $(CASES)

counts: test-deps build loopback
	Tests/Benchmark/counts.py $(if $(WHY),--update '$(WHY)') $(BIN) $(LOOPBACK)

start-order: build loopback
	docs/packaging/start_order.py $(BIN) $(LOOPBACK) docs/packaging/start-order.txt

fuzz: deps
	Tests/Fuzz/run.py fuzz --seconds $(or $(SECONDS),120) --jobs $(JOBS) $(addprefix --build ,$(FUZZERS))

fuzz-night: deps
	Tests/Fuzz/run.py night --hours $(HOURS) --jobs $(JOBS)

fuzz-coverage: deps
	Tests/Fuzz/run.py coverage --jobs $(JOBS)

faults: test-deps build loopback
	python3 Tests/Faults/run.py $(BIN) $(LOOPBACK) $(if $(SECONDS),--seconds $(SECONDS))

# A million lines of ten thousand hosts: some 45 minutes. Only CI and this install Spark, 500 MB.
crawl: build
	CI=true .ci/deps test
	unshare -r -n Tests/RealServers/crawl.py $(BIN) \
		--python .build/spark/bin/python $(or $(WAYS),one killed parallel spark)

soak: test-deps build loopback
	python3 Tests/Faults/soak.py $(BIN) $(LOOPBACK) $(or $(SECONDS),600)

THREAD := --scratch-path .build/thread --sanitize=thread

sanitize: test-deps
	$(SWIFT) build --build-tests $(THREAD)
	$(TEST) $(THREAD) --skip '$(PROCESS_TESTS)' --skip '$(PROXY_TESTS)'
	$(TEST) $(THREAD) --filter '$(PROXY_TESTS)'
	$(TEST) $(THREAD) --filter '$(PROCESS_TESTS)'
	LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/leaks.supp $(SWIFT) test -c release \
		--scratch-path .build/address --sanitize=address --disable-xctest -Xswiftc -enable-testing

format:
	$(SWIFT) format -i -r Package.swift Sources Plugins Tests docs/examples

lint:
	$(SWIFT) format lint -s -r Package.swift Sources Plugins Tests docs/examples

clean:
	rm -rf .build
