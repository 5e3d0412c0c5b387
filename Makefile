# vaultctl: build, test, check, install. `make` alone lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.PHONY: help needs demo build test unit check format lint docs interop load fault crash race model bench counts \
	install uninstall clean attacks fuzz bad-inputs power-cuts disk-full watch kills sanitize mutate fault-http

SWIFT  ?= swift
PREFIX ?= /usr/local
DESTDIR ?=

# One debug build serves `test` and `check`, one release build everything that runs the binary.
DEBUG_FLAGS   := -Xswiftc -warnings-as-errors
RELEASE_FLAGS := -c release --static-swift-stdlib
BINARY        := build/vaultctl

help:
	@cat <<'END'
	make demo       build and run the main job on an embedded default, told step by step
	make test       every test and the round trips with the reference
	make check      formatting, warnings, layers, documentation, linkage, embedding
	make build      the release binary, build/vaultctl
	make install    binary, manual pages, completions below PREFIX (default /usr/local), staged by DESTDIR
	make uninstall  removes exactly what install put there
	make interop    the round trips alone; ONLY=PATTERN, SEED=N, ROUNDS=N, FULL=1 for 200 scenarios of both tools
	make fault      every call to the file system fails once (also: make crash, race, model); SEED=N, ONLY=VERB,...
	make fault-http every request of the network verbs fails once, and concurrent histories; SEED=N, ONLY=PATTERN
	make bad-inputs every bit flipped and every length cut in every file of a clone; make kills: kill -9; SEED=N
	make fuzz       libFuzzer and AddressSanitizer on every reader; RUNS=N each, ONLY=NAME,..., SEED=N
	make power-cuts the program on a file system that stops at random moments, as root; CUTS=N, SEED=N
	make disk-full  the program with room for so many pages or files and no more, one more each time, as root
	make watch      marked contents, names and keys searched in all that is written, every nonce watched, of the
	                program and of the whole suite; ROUNDS=N, ONLY=FILTER
	make sanitize   the suite under AddressSanitizer with leak check, then under ThreadSanitizer; ONLY=FILTER
	make mutate     deliberate defects, each of which some suite has to notice; ONLY=NAME,...
	make load       200 clients on `vaultctl serve` for a minute; SECONDS_=N, CLIENTS=N
	make bench      vaultctl beside the reference, git, restic, borg and age; QUICK=1, CASES=..., SAVE=1
	make counts     system calls, syncs, bytes, objects, allocations of each verb against their thresholds
	make format     rewrites the sources to the project style; make lint only looks
	make docs       regenerates docs/commands.md from the binary
	make clean      removes everything that was built
	END

needs:
	@interop/needs.sh

# The binary is stripped; the unstripped one stays in the build folder, where `make check` looks for symbols.
build: needs
	@$(SWIFT) build $(RELEASE_FLAGS) --product vaultctl
	mkdir -p build
	strip -o $(BINARY).new "$$($(SWIFT) build $(RELEASE_FLAGS) --show-bin-path)/vaultctl"
	mv $(BINARY).new $(BINARY)
	echo "$(BINARY): $$($(BINARY) version | head -1)"

demo: build
	@interop/demo.sh $(BINARY)

test: unit interop counts attacks
	@echo
	tail -1 build/interop.log
	grep -h 'Test run with' build/unit.log | tail -1

# One test at a time: most of them use every core themselves, or wait for the disk, and time limits mean what they say.
unit: needs
	@mkdir -p build
	$(SWIFT) test --no-parallel $(DEBUG_FLAGS) 2>&1 | tee build/unit.log

interop: build
	@interop/needs.sh interop
	python=$$(interop/setup.sh)
	VAULTCTL=$(CURDIR)/$(BINARY) "$$python" interop/run.py $(if $(ONLY),--only '$(ONLY)') $(if $(SEED),--seed $(SEED)) \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(FULL),--scenarios 200) | tee build/interop.log

# The short forms of the campaigns that run the program itself.
attacks: build
	@interop/reliability/power_cuts.py --vaultctl $(CURDIR)/$(BINARY) --cuts 30 --seconds 20
	interop/reliability/disk_full.py --vaultctl $(CURDIR)/$(BINARY) --step 30 --seconds 20
	interop/reliability/other_ground.py --vaultctl $(CURDIR)/$(BINARY)
	interop/reliability/secrecy_watch.py --vaultctl $(CURDIR)/$(BINARY) --rounds 2
	interop/reliability/fault_http.py --vaultctl $(CURDIR)/$(BINARY) --short --seconds 18
	interop/reliability/histories.py --vaultctl $(CURDIR)/$(BINARY) --histories 100 --pushes 4 --seconds 15
	python=$$(interop/setup.sh)
	"$$python" interop/reliability/race_with_reference.py --vaultctl $(CURDIR)/$(BINARY) --rounds 20 --seconds 20

check: needs lint
	@interop/checks/sources.py
	interop/reliability/mutate.py --places
	$(SWIFT) build --build-tests $(DEBUG_FLAGS)
	interop/checks/documentation.py "$$($(SWIFT) build $(DEBUG_FLAGS) --show-bin-path)"
	$(MAKE) --no-print-directory build
	interop/checks/linkage.sh $(BINARY) "$$($(SWIFT) build $(RELEASE_FLAGS) --show-bin-path)/vaultctl"
	interop/checks/generated.sh $(BINARY)
	interop/checks/embedding.sh
	echo 'check: everything passed'

# The full forms of the campaigns that `make test` runs in short.
CAMPAIGN = VAULT_CAMPAIGN=full $(if $(SEED),VAULT_SEED=$(SEED)) $(if $(ONLY),VAULT_ONLY="$(ONLY)") $(SWIFT) test --no-parallel $(DEBUG_FLAGS) --filter

fault: needs
	@$(CAMPAIGN) 'CrashTests.MovingFaultTests'

crash: needs
	@$(CAMPAIGN) 'CrashTests.(CrashStateTests|KillTests|DamageTests)'

kills: needs
	@$(CAMPAIGN) 'CrashTests.KillTests'

bad-inputs: needs
	@$(CAMPAIGN) 'CrashTests.DamageTests'

race: build
	@$(CAMPAIGN) 'RaceTests'
	python=$$(interop/setup.sh)
	"$$python" interop/reliability/race_with_reference.py --vaultctl $(CURDIR)/$(BINARY) \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SEED),--seed $(SEED))

model: needs
	@$(CAMPAIGN) 'ModelTests'

# Coverage guides through the modules of the same build, so it is a build of its own; one of the tests would not link.
FUZZ_BUILD := .build/fuzz
fuzz: needs
	@VAULT_FUZZ=1 $(SWIFT) build -c release --product vaultfuzz --sanitize=fuzzer --sanitize=address \
		-Xswiftc -use-ld=lld -Xswiftc -enable-testing --scratch-path $(FUZZ_BUILD)
	interop/fuzz/run.py --fuzzer $(FUZZ_BUILD)/release/vaultfuzz $(if $(RUNS),--runs $(RUNS)) \
		$(if $(ONLY),--only '$(ONLY)') $(if $(SEED),--seed $(SEED))

fault-http: build
	@interop/reliability/fault_http.py --vaultctl $(CURDIR)/$(BINARY) $(if $(ONLY),--only '$(ONLY)') $(if $(SEED),--seed $(SEED))
	interop/reliability/histories.py --vaultctl $(CURDIR)/$(BINARY) $(if $(SEED),--seed $(SEED))

power-cuts: build
	@interop/reliability/power_cuts.py --vaultctl $(CURDIR)/$(BINARY) $(if $(CUTS),--cuts $(CUTS)) $(if $(SEED),--seed $(SEED))

disk-full: build
	@interop/reliability/disk_full.py --vaultctl $(CURDIR)/$(BINARY) $(if $(STEP),--step $(STEP))

watch: build
	@interop/reliability/secrecy_watch.py --vaultctl $(CURDIR)/$(BINARY) $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(SEED),--seed $(SEED))
	$(SWIFT) build --build-tests $(DEBUG_FLAGS)
	interop/reliability/suite_watch.py --bundle "$$($(SWIFT) build --show-bin-path)/vaultctlPackageTests.xctest" \
		$(if $(ONLY),--filter '$(ONLY)')

# Tests that wait for a fault are as slow as their program; under a sanitizer the short campaigns are long enough.
sanitize: needs
	@# Some tests expect a program to end by SIGSEGV.
	export ASAN_OPTIONS=detect_leaks=1:handle_segv=0 TSAN_OPTIONS=handle_segv=0
	for sanitizer in address thread; do
		$(SWIFT) test --no-parallel --sanitize=$$sanitizer --scratch-path .build/$$sanitizer $(if $(ONLY),--filter '$(ONLY)')
	done

mutate: needs
	@interop/reliability/mutate.py --work .build/mutate $(if $(ONLY),--only '$(ONLY)')

lint:
	@$(SWIFT) format lint --strict --parallel --recursive Sources Tests Package.swift
	echo 'lint: clean'

format:
	@$(SWIFT) format --in-place --parallel --recursive Sources Tests Package.swift

docs: build
	@$(BINARY) help --markdown >build/commands.md
	mv build/commands.md docs/commands.md

load: build
	@VAULTCTL=$(CURDIR)/$(BINARY) interop/load_server.py $(if $(SECONDS_),--seconds $(SECONDS_)) $(if $(CLIENTS),--clients $(CLIENTS))

bench: build
	@interop/needs.sh bench
	python=$$(interop/setup.sh)
	VAULTCTL=$(CURDIR)/$(BINARY) "$$python" interop/bench/run.py $(if $(QUICK),--quick) $(if $(CASES),--cases '$(CASES)') \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SAVE),--save)

counts: build
	@interop/needs.sh counts
	VAULTCTL=$(CURDIR)/$(BINARY) interop/bench/counts.py $(if $(UPDATE),--update)

install:
	@test -x $(BINARY) || { echo 'make build first (or make demo)' >&2; exit 1; }
	interop/install.sh install $(BINARY) '$(PREFIX)' '$(DESTDIR)'

uninstall:
	@interop/install.sh uninstall $(BINARY) '$(PREFIX)' '$(DESTDIR)'

clean:
	@rm -rf .build build
