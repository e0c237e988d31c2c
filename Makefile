# Makefile: the commands that show, build, test and measure Weir. `make help` lists them, with the variables they take.
#
# Everything that is built lies under $(BUILD). What a command needs and the machine lacks is installed through apt-get,
# with sudo where it takes that, and the command says so; without apt-get it says what to install instead.

BUILD = .build
JOBS = 2
SWIFT = swift
SWIFT_FLAGS =
CFLAGS = -O2 -g
ifeq ($(origin CC),default)
CC = $(shell command -v gcc || command -v clang || echo gcc)
endif
ifeq ($(origin CXX),default)
CXX = $(shell command -v g++ || command -v clang++ || echo g++)
endif

SWIFT_SOURCES = Package.swift Sources Tests Benchmarks

.PHONY: help demo test build bench bench-quick format lint libcweir install-free crash clean test-c test-c-headers \
        test-c-examples test-c-core test-golden check-aarch64 need-swift need-lz4 need-lz4-tool need-zlib need-c \
        need-python need-strace bench-build need-gcc stress stress-short soak test-aarch64 test-quickstart

help:
	@echo 'make demo         see it: capture, kill -9, everything is there (installs liblz4-dev, builds release)'
	@echo 'make test         every check: the C library, the Swift packages, the style (installs what it needs)'
	@echo 'make build        release build of the libraries and of the tool, $(BUILD)/release/weir'
	@echo 'make bench        all benchmarks, charts, the tables of the documentation; $(BUILD)/bench/results.jsonl'
	@echo 'make bench-quick  what a capture costs at 1 and 3 threads beside others, in under 40 seconds'
	@echo 'make bench-deps   installs the libraries that Weir is measured beside, and what draws the charts'
	@echo 'make bench-charts draws the charts and tables anew from the results of the last make bench'
	@echo 'make bench-sync   what waiting for the disk costs, on the disk of DIR ($(BUILD))'
	@echo 'make recovery-bench  what recovery costs: by the number of segments, by the byte, of a full ring'
	@echo 'make batch-bench  what batch segments cost, and how much smaller they are, beside LZ4 itself'
	@echo 'make delivery-bench  what delivery costs: as JSON, to files, over HTTP on loopback; beside the disk and a socket'
	@echo 'make hook-bench   what a join point costs a call: with nothing attached, and with advice that counts'
	@echo 'make bench-micro  micro-benchmarks of single calls (builds its tools first)'
	@echo 'make crash        the crash tests at length: 200 kills, a million events'
	@echo 'make delivery-crash  a million events delivered, 50 kills on the way; kills at each call of delivery'
	@echo 'make format       lays out the Swift sources as .swift-format says'
	@echo 'make lint         checks that they are laid out so'
	@echo 'make libcweir     the C library alone, without Swift: $(BUILD)/c/libcweir.a and its headers'
	@echo 'make install-free builds it, and shows how to use it without installing anything'
	@echo 'make test-c       the C checks alone'
	@echo 'make test-c-again  each of them TIMES ($(TIMES)) times beside two endless loops (CHECKS= names some)'
	@echo 'make test-swift   the Swift checks alone'
	@echo 'make test-swift-again  the Swift tests TIMES ($(TIMES)) times beside two endless loops (FILTER=)'
	@echo 'make test-quickstart  the quick start of the README, as printed, in a package of its own'
	@echo 'make models       models of the lanes, in every interleaving, and their broken twins: Tests/Models/README.md'
	@echo 'make models-long  the same, with the models that take longer'
	@echo 'make counts       that a capture allocates nothing, takes no lock and makes no system call'
	@echo 'make test-consumer  what a package that depends on Weir fetches: without traits no swift-syntax'
	@echo 'make test-golden  the logs of earlier versions, read by two readers'
	@echo 'make test-second-reader  real requests in batch segments: lz4 -t, and weir cat beside a reader in Python'
	@echo 'make stress       threads that do whatever they may for STRESS_SECONDS, under ThreadSanitizer'
	@echo 'make hook-stress  hooks attached and detached while HOOK_FIRINGS calls fire them, under ThreadSanitizer'
	@echo 'make hook-twins   faults put into hooks, each of which has to be found'
	@echo 'make test-thread-sanitizer  what an adopter does with Weir, under ThreadSanitizer: no report'
	@echo 'make soak         the same at full speed: STRESS_EVENTS captures on every policy for a full lane'
	@echo 'make loss-table   LOSS_KILLS kills of SQLite, JSON Lines, a queue in memory and Weir: what each loses'
	@echo 'make fuzz         fuzzes every reader of files for SECONDS each (60), under AddressSanitizer'
	@echo 'make fuzz-mutated ROUNDS (100000) mutated logs through every reader and recovery'
	@echo 'make crash-replay  kills, sweeps and cases at length: Tests/CrashReplay/README.md (ROUNDS=, SECONDS=, SEED=)'
	@echo 'make crash-replay-short  a part of it, as make test runs it'
	@echo 'make delivery-twins  faults put into the order in which delivery makes things durable: each has to be found'
	@echo 'make power-cut    ROUNDS (300) power cuts of ext4 and xfs, as root; installs what makes and breaks disks'
	@echo 'make disks-long   a full disk at every size, and every system call failing'
	@echo 'make check-aarch64  compiles the C library for 64-bit ARM (needs gcc-aarch64-linux-gnu)'
	@echo 'make test-aarch64 the C tests on an emulated 64-bit ARM (installs gcc-aarch64-linux-gnu and qemu-user)'
	@echo 'make clean        removes $(BUILD)'
	@echo
	@echo 'Variables: BUILD (folder of all products), JOBS (parallel Swift compilations, $(JOBS)), SWIFT_FLAGS, CC, CXX,'
	@echo 'BENCH_FLAGS (see: make bench BENCH_FLAGS=--help), STRESS_SECONDS ($(STRESS_SECONDS)),'
	@echo 'STRESS_EVENTS ($(STRESS_EVENTS)), STRESS_FLAGS (for one: --seed N),'
	@echo 'LOSS_KILLS ($(LOSS_KILLS)), LOSS_FLAGS (for one: --markdown).'

# ---- What the commands need ------------------------------------------------------------------------------------------

need-swift:
	@command -v $(SWIFT) >/dev/null 2>&1 || { \
	  echo 'weir: there is no "$(SWIFT)" on the PATH. Install Swift 6.2 or later (https://www.swift.org/install/linux/),'; \
	  echo '      or name it: make SWIFT=/path/to/swift'; exit 1; } >&2

# $(call install,PACKAGES): a POSIX sh command that installs Debian packages, or says why it can't.
install = { \
  if ! command -v apt-get >/dev/null 2>&1; then \
    echo 'weir: $(1) is needed and there is no apt-get to install it with: install it by hand' >&2; exit 1; fi; \
  as=; if [ "$$(id -u)" != 0 ]; then \
    if ! command -v sudo >/dev/null 2>&1; then \
      echo 'weir: $(1) is needed: run "apt-get install $(1)" as root' >&2; exit 1; fi; \
    as=sudo; fi; \
  echo 'weir: installing $(1)'; \
  $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(1) >/dev/null 2>&1 || { \
    $$as apt-get update -qq && \
    $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(1) >/dev/null; } || { \
    echo 'weir: could not install $(1): see the lines above, or install it by hand' >&2; exit 1; }; }

need-lz4:
	@[ -e /usr/include/lz4frame.h ] || pkg-config --exists liblz4 2>/dev/null || $(call install,liblz4-dev)

# Delivery over HTTP packs its bodies with it.
need-zlib:
	@[ -e /usr/include/zlib.h ] || pkg-config --exists zlib 2>/dev/null || $(call install,zlib1g-dev)

# The tests have batch segments read by it.
need-lz4-tool:
	@command -v lz4 >/dev/null 2>&1 || $(call install,lz4)

need-c: need-lz4
	@command -v $(CC) >/dev/null 2>&1 && command -v $(CXX) >/dev/null 2>&1 || $(call install,gcc g++ libc6-dev)

# The tests kill the tool at chosen system calls with it; without it they would skip that.
need-strace:
	@command -v strace >/dev/null 2>&1 || $(call install,strace)

need-python:
	@command -v python3 >/dev/null 2>&1 || $(call install,python3)

# ---- Build and show --------------------------------------------------------------------------------------------------

SWIFT_BUILD = $(SWIFT) build -j $(JOBS) --scratch-path $(BUILD) $(SWIFT_FLAGS)
# The tests are of everything; a release build leaves swift-syntax out, which alone would take minutes.
TEST_TRAITS = --traits Macros,YAML,HTTP,Collector,Lifecycle,Metrics
BUILD_TRAITS = --traits YAML,HTTP,Collector
# A few tests at a time: all 1,200 begun at once stand in one queue of as many threads as there are cores, where each
# step of a test waits for a step of every other, and time-outs that are generous end. For the same reason the tests
# that wait for processes, and hold a thread while they do, have a run of their own.
# Without SwiftPM, of which two at a time lock each other's database.
TEST_BUNDLE = $(BUILD)/debug/weirPackageTests.xctest
SWIFT_TEST = SWIFT_BACKTRACE=enable=no NO_COLOR=1 $(TEST_BUNDLE) --testing-library swift-testing \
  --experimental-maximum-parallelization-width 6

demo: need-swift need-lz4
	$(SWIFT_BUILD) -c release --product weir
	$(BUILD)/release/weir demo

build: need-swift need-lz4 need-zlib
	$(SWIFT_BUILD) -c release $(BUILD_TRAITS)

# ---- Test ------------------------------------------------------------------------------------------------------------

test: need-swift need-lz4 need-lz4-tool need-zlib need-c need-strace need-python
	@$(MAKE) --no-print-directory test-c
	@$(MAKE) --no-print-directory test-swift

# The checks of the Swift packages. After the build two at a time, each with its output in one piece: tests wait for
# processes much of the time, and builds come to stretches that one processor does alone.
.PHONY: test-swift test-swift-parts test-packages test-end-to-end test-release test-swift-again

test-swift: need-swift need-lz4 need-lz4-tool need-zlib need-c need-strace need-python
	$(SWIFT_BUILD) --build-tests $(TEST_TRAITS)
	@$(MAKE) --no-print-directory test-swift-symbols
	@$(MAKE) --no-print-directory -j 2 --output-sync=target test-swift-parts

# The longest first.
test-swift-parts: test-end-to-end test-quickstart test-release test-packages test-consumer test-second-reader lint

test-packages:
	$(SWIFT_TEST) --skip EndToEndTests
	SWIFT_BACKTRACE=enable=no $(TEST_BUNDLE) WeirTestingTests.XCTestTests

test-end-to-end:
	$(SWIFT_TEST) --filter EndToEndTests

# One after the other, for they build into the same folders.
test-release:
	@$(MAKE) --no-print-directory counts
	@$(MAKE) --no-print-directory hook-stress-short

# The tests of the Swift packages TIMES times beside two endless loops: chance is to have no say in them. FILTER names
# some of them, as swift test does.
TIMES = 20
FILTER =
# Not by the name that makes make run the line even where it is only to print it.
SWIFT_AGAIN = $(if $(FILTER),env $(SWIFT_TEST) --filter '$(FILTER)',$(MAKE) --no-print-directory test-packages \
              test-end-to-end)

test-swift-again: need-swift need-lz4 need-lz4-tool need-zlib need-strace
	$(SWIFT_BUILD) --build-tests $(TEST_TRAITS)
	LOG=$(BUILD)/again.log Tests/again.sh $(TIMES) $(SWIFT_AGAIN)

# Real requests in batch segments, to the tool and to the reader in Python. With the tool that the tests were built with.
.PHONY: test-second-reader

test-second-reader: need-python need-lz4-tool
	@[ -x $(BUILD)/debug/weir ] || $(SWIFT_BUILD) --product weir $(TEST_TRAITS)
	@rm -rf $(BUILD)/second-reader
	timeout -s KILL 1200 python3 -B Tests/Golden/compare.py $(BUILD)/debug/weir Sources/WeirTool/Sample/apache_access.log \
	  $(BUILD)/second-reader
	@rm -rf $(BUILD)/second-reader

# What packages that depend on this one fetch.
.PHONY: test-consumer

test-consumer: need-swift need-lz4
	SWIFT='$(SWIFT)' JOBS=$(JOBS) Tests/Consumer/check.sh

# The README's quick start as printed, with and without the macro, in a package that depends on this one. Builds
# swift-syntax the first time.
test-quickstart: need-swift need-python
	python3 Tests/Consumer/quickstart.py . $(BUILD)/quickstart $(SWIFT) $(JOBS)

crash: need-swift need-lz4 need-lz4-tool need-zlib need-strace
	$(SWIFT_BUILD) --build-tests $(TEST_TRAITS)
	WEIR_LONG=1 WEIR_KILLS=$${WEIR_KILLS:-200} $(SWIFT_TEST) --filter EndToEndTests

# Real requests recorded and delivered over HTTP to a collector that fails at random, everybody killed on the way, and
# the same beside a provider that is dead. With the release tool: a million events take a debug build too long.
.PHONY: delivery-crash

delivery-crash: need-swift need-lz4 need-lz4-tool need-zlib
	$(SWIFT_BUILD) -c release $(BUILD_TRAITS) --product weir
	$(SWIFT_BUILD) --build-tests $(TEST_TRAITS)
	WEIR_LONG_DELIVERY=1 WEIR_TOOL=$(abspath $(BUILD))/release/weir \
	  $(SWIFT_TEST) --filter EndToEndTests.EndToEnd.DeliveryKills
	WEIR_LONG=1 $(SWIFT_TEST) --filter 'DeliveryCrashTests|DeliveryFateTests'

format: need-swift
	$(SWIFT) format -i -r $(SWIFT_SOURCES)

lint: need-swift
	$(SWIFT) format lint --strict -r $(SWIFT_SOURCES)
	@echo 'lint: clean'

clean:
	rm -rf $(BUILD)

# ---- The C library alone ---------------------------------------------------------------------------------------------

C = $(BUILD)/c
C_SOURCES = $(wildcard Sources/CWeir/*/*.c)
C_HEADERS = include/weir.h include/weir_capture.h include/weir_failing.h
C_WARNINGS = -Wall -Wextra -Werror
C_FLAGS = -std=gnu11 $(C_WARNINGS) -fPIC -pthread -Iinclude -ISources/CWeir -MMD -MP
C_OBJECTS = $(C_SOURCES:Sources/CWeir/%.c=$(C)/plain/%.o)
# What a program with the library in it links as well: batch segments are LZ4.
C_LIBS = -llz4
INSTALLED_HEADERS = $(C_HEADERS:include/%=$(C)/include/%)

libcweir: $(C)/libcweir.a $(INSTALLED_HEADERS)

$(C)/plain/%.o: Sources/CWeir/%.c
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) $(CFLAGS) -c $< -o $@

$(C)/libcweir.a: $(C_OBJECTS)
	@rm -f $@
	ar rcs $@ $(C_OBJECTS)

$(C)/include/%: include/%
	@mkdir -p $(@D)
	cp $< $@

install-free: libcweir
	@echo 'Nothing needs to be installed. Compile and link against the build folder:'
	@echo
	@echo '  $(CC) -std=c11 -I$(abspath $(C)/include) program.c $(abspath $(C)/libcweir.a) $(C_LIBS) -pthread'
	@echo '  $(CXX) -std=c++17 -I$(abspath $(C)/include) program.cpp $(abspath $(C)/libcweir.a) $(C_LIBS) -pthread'
	@echo
	@echo 'Tests/C/example.c and Tests/C/example.cpp are complete programs.'

# ---- C tests ---------------------------------------------------------------------------------------------------------

# The same library with AddressSanitizer, UndefinedBehaviorSanitizer and the fault points, for the tests alone.
CHECKED_FLAGS = $(C_FLAGS) -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
                -DWEIR_FAULT_INJECTION
CHECKED_OBJECTS = $(C_SOURCES:Sources/CWeir/%.c=$(C)/checked/%.o)
C_TESTS = $(patsubst Tests/C/%.c,%,$(wildcard Tests/C/*_test.c))
# Without the sanitizers: their allocator locks up in a child forked while another thread allocates, and what they add
# to a capture multiplies the instructions that signal_test steps through. They catch SIGBUS, too, before guard_test can,
# need more of a stack than a thread of host_test has, and don't go with the plug-in of unload_test.
PLAIN_TESTS = fork_test signal_test guard_test host_test unload_test
CHECKED_TESTS = $(filter-out $(PLAIN_TESTS),$(C_TESTS))
C_TEST_RUNS = $(CHECKED_TESTS:%=$(C)/checked/%.run) $(PLAIN_TESTS:%=$(C)/plain/%.run)

# Whatever takes longer hangs: a loaded machine needs a tenth of it.
LIMITED = timeout -s KILL 1800
# The checks make and sync thousands of logs, and few of them ask for a disk. The others have theirs in memory, where
# there is room, and if TMPDIR does not say where.
DISK_TESTS = capture_test concurrency_test copy_test copy_on_write_test crash_test durable_test follow_test guard_test \
             host_test open_test
MEMORY := $(shell [ -w /dev/shm ] && df -Pk /dev/shm | awk 'NR == 2 && $$4 > 2000000 { print "/dev/shm" }')
IN_MEMORY = $(if $(TMPDIR),,$(if $(MEMORY),TMPDIR=$(MEMORY)))
# Freed memory is kept from being used again, but for 4 MiB of it: each of thousands of forks copies the tables of that.
CHECKED_OPTIONS = detect_leaks=1:quarantine_size_mb=4:thread_local_quarantine_size_kb=64
CHECKED_RUN = ASAN_OPTIONS=$(CHECKED_OPTIONS)

# What `make test` runs of the C library, several at a time. The longest first, so that none of them is alone at the end.
C_RUNS = $(C)/checked/ring_test.run $(C)/checked/reader_damage_test.run $(C)/plain/signal_test.run models fuzz-mutated-short \
         stress-short $(REPLAY_SHORT_RUNS) $(REPLAY_CASE_RUNS) $(C_TEST_RUNS) fuzz-replays-short fuzz-cases-short \
         loss-table-short
C_RUN_PROGRAMS = $(C_TEST_RUNS:%.run=%) $(FUZZ_REPLAYS) $(FUZZ)/mutated_files $(FUZZ)/input_cases $(LOSS)/loss_table \
                 $(REPLAY_PROGRAMS:%=$(REPLAY)/%) $(C)/tsan/stress/stress \
                 $(C)/bench/recovery_bench $(C)/bench/batch_bench \
                 $$(command -v $(MODELS_CC) >/dev/null 2>&1 && echo $(MODELS)/models)

.PHONY: test-c-build test-c-again

test-c: need-c need-lz4-tool need-python need-gcc need-sqlite
	@$(MAKE) --no-print-directory test-c-headers test-c-examples
	@$(MAKE) --no-print-directory test-c-build
	@$(MAKE) --no-print-directory -j $(JOBS) --keep-going --output-sync=target $(C_RUNS)
	@$(MAKE) --no-print-directory test-symbols test-layers test-labels
	@if command -v aarch64-linux-gnu-gcc >/dev/null 2>&1; then $(MAKE) --no-print-directory check-aarch64; \
	  else echo 'skipped: check-aarch64, for want of gcc-aarch64-linux-gnu'; fi

test-c-build:
	@$(MAKE) --no-print-directory -j $(JOBS) $(C_RUN_PROGRAMS)

# Each of them TIMES times beside two endless loops; CHECKS names some of them.
CHECKS = $(C_RUNS) counts-c

test-c-again: need-c need-lz4-tool need-python need-gcc need-sqlite need-strace
	@$(MAKE) --no-print-directory test-c-build
	@failed=0; for check in $(CHECKS); do \
	  LOG=$(C)/again.log Tests/again.sh $(TIMES) $(MAKE) --no-print-directory $$check || failed=1; done; exit $$failed

# Each public header compiles alone, strictly, as C11 and as C++17, with every compiler there is; so do those that are
# inlined into Swift programs, the clocks with POSIX's names, which strict C11 leaves out.
test-c-headers:
	@mkdir -p $(C)/headers
	@for header in $(notdir $(C_HEADERS)) weir_firing.h weir_clocks.h; do \
	  printf '#include "%s"\n#include "%s"\nint weir_header_compiles;\n' $$header $$header >$(C)/headers/alone.c; \
	  cp $(C)/headers/alone.c $(C)/headers/alone.cpp; posix=; \
	  [ $$header != weir_clocks.h ] || posix=-D_POSIX_C_SOURCE=200809L; \
	  for compiler in gcc clang; do command -v $$compiler >/dev/null 2>&1 || continue; \
	    $$compiler -std=c11 -pedantic-errors $$posix $(C_WARNINGS) -Iinclude -fsyntax-only $(C)/headers/alone.c || exit 1; \
	    echo "ok: $$header as C11 with $$compiler"; done; \
	  for compiler in g++ clang++; do command -v $$compiler >/dev/null 2>&1 || continue; \
	    $$compiler -std=c++17 -pedantic-errors $$posix $(C_WARNINGS) -Iinclude -fsyntax-only $(C)/headers/alone.cpp || exit 1; \
	    echo "ok: $$header as C++17 with $$compiler"; done; \
	done

# What a user does: include the header, link the library, no Swift anywhere.
test-c-examples: libcweir
	@mkdir -p $(C)/examples
	$(CC) -std=c11 -pedantic-errors $(C_WARNINGS) -O2 -I$(C)/include Tests/C/example.c $(C)/libcweir.a $(C_LIBS) -pthread \
	  -o $(C)/examples/example-c
	$(CXX) -std=c++17 -pedantic-errors $(C_WARNINGS) -O2 -I$(C)/include Tests/C/example.cpp $(C)/libcweir.a $(C_LIBS) -pthread \
	  -o $(C)/examples/example-cpp
	@for program in $(C)/examples/example-c $(C)/examples/example-cpp; do \
	  if ldd $$program | grep -i swift; then echo "weir: $$program links Swift" >&2; exit 1; fi; \
	  log=$$(mktemp -d) || exit 1; $$program "$$log/log"; status=$$?; rm -rf "$$log"; \
	  [ $$status = 0 ] || exit 1; echo "ok: $$program, without Swift"; done
	@rm -rf $(C)/examples/other && mkdir -p $(C)/examples/other && cp $(C)/include/*.h $(C)/examples/other
	@sed -i 's/_abi[0-9]*"/_abi0"/' $(C)/examples/other/weir_capture.h
	@if $(CC) -std=c11 -O2 -I$(C)/examples/other Tests/C/example.c $(C)/libcweir.a $(C_LIBS) -pthread \
	    -o $(C)/examples/other/example-c 2>$(C)/examples/other/errors; then \
	  echo 'weir: a program built with the header of another version links' >&2; exit 1; fi
	@grep -q weir_find_place_abi0 $(C)/examples/other/errors || \
	  { cat $(C)/examples/other/errors >&2; exit 1; }
	@echo 'ok: a program built with the header of another version does not link'

test-c-core: $(C_TEST_RUNS)

# The names that a program with Weir in it shares with Weir: of the library, with and without the fault points.
.PHONY: test-symbols test-swift-symbols

test-symbols: $(C)/libcweir.a $(C)/checked/libcweir.a $(C)/replay/seam/libcweir.a
	Tests/C/symbols.sh $^

# The core's folders in their order: see CoreLayers.md, whose table this reads.
.PHONY: test-layers

test-layers: need-python $(C)/libcweir.a
	python3 Tests/C/layers.py Sources/Weir/Weir.docc/Maintaining/CoreLayers.md $(C_OBJECTS)

# The barrier tables: each order has its label, each label its row, each row a model or a reason.
.PHONY: test-labels

test-labels: need-python
	python3 Tests/C/labels.py Tests/Models/README.md

# The global names of what SwiftPM links, after a debug build.
test-swift-symbols:
	Tests/C/symbols.sh $(wildcard $(BUILD)/debug/CWeir.build/*/*.o)

# Logs of earlier versions, and a second reader of the format, in Python.
$(C)/checked/golden_test.run: | need-python need-lz4-tool
$(C)/checked/batch_read_test.run: | need-lz4-tool

test-golden: need-c $(C)/checked/golden_test.run

$(C)/checked/%.o: Sources/CWeir/%.c
	@mkdir -p $(@D)
	$(CC) $(CHECKED_FLAGS) -c $< -o $@

$(C)/checked/libcweir.a: $(CHECKED_OBJECTS)
	@rm -f $@
	ar rcs $@ $(CHECKED_OBJECTS)

$(C)/checked/%_test: Tests/C/%_test.c $(C)/checked/libcweir.a
	$(CC) $(CHECKED_FLAGS) $< $(C)/checked/libcweir.a $(C_LIBS) -o $@

$(C)/plain/%_test: Tests/C/%_test.c $(C)/libcweir.a
	$(CC) $(C_FLAGS) $(CFLAGS) $< $(C)/libcweir.a $(C_LIBS) -o $@

$(C)/plain/unload_test: $(C)/plain/unloaded.so

$(C)/plain/unloaded.so: Tests/C/unloaded.c $(C)/libcweir.a
	$(CC) $(C_FLAGS) $(CFLAGS) -shared $< $(C)/libcweir.a $(C_LIBS) -o $@

# Never up to date: a test runs each time that it is asked for.
.PHONY: $(C_TEST_RUNS)
$(C_TEST_RUNS): %.run: %
	$(CHECKED_RUN) $(if $(filter $(DISK_TESTS:%=%.run),$(@F)),,$(IN_MEMORY)) $(LIMITED) $<

# Tens of thousands of readers, each with buffers that the sanitizer else maps anew.
$(C)/checked/reader_damage_test.run: CHECKED_OPTIONS := $(CHECKED_OPTIONS):clear_shadow_mmap_threshold=1000000000

# Compiling shows that no x86 is left in the C library; nothing is run.
check-aarch64:
	@command -v aarch64-linux-gnu-gcc >/dev/null 2>&1 || $(call install,gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
	@mkdir -p $(C)/aarch64
	@for source in $(C_SOURCES) Tests/C/example.c; do \
	  aarch64-linux-gnu-gcc -std=gnu11 $(C_WARNINGS) -O2 -fPIC -Iinclude -ISources/CWeir -c $$source -o $(C)/aarch64/object.o || exit 1; \
	done
	@echo 'ok: the C library compiles for AArch64'

# The C tests on an emulated 64-bit ARM, linked statically so that no foreign C library needs to be there. The emulator
# runs ARM's instructions in the order of the processor below, so this shows that the code is right, not that its memory
# orders suffice. It has no ptrace, and can't run what fork_test does: a raw clone, and threads in a forked child. A
# program without foreign libraries has no plug-ins.
AARCH64_TESTS = $(filter-out fork_test unload_test,$(C_TESTS))
AARCH64_RUNS = $(AARCH64_TESTS:%=$(C)/aarch64/%.run)

test-aarch64:
	@command -v aarch64-linux-gnu-gcc >/dev/null 2>&1 || $(call install,gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
	@command -v qemu-aarch64 >/dev/null 2>&1 || $(call install,qemu-user)
	@$(MAKE) --no-print-directory --keep-going $(AARCH64_RUNS)
	@echo 'not run on AArch64: fork_test, unload_test, and the instruction steps of signal_test'

# liblz4 for that processor: its Debian package, unpacked here, so that nothing of the machine changes.
AARCH64_APT = $(abspath $(C)/aarch64/apt)
AARCH64_APT_GET = apt-get -qq -o APT::Architectures::=arm64 -o Dir::State::Lists=$(AARCH64_APT)/lists \
                  -o Dir::Cache=$(AARCH64_APT)/cache

$(C)/aarch64/liblz4.a:
	@mkdir -p $(AARCH64_APT)/lists/partial $(AARCH64_APT)/cache/archives/partial
	@echo 'weir: fetching liblz4-dev for AArch64'
	@cd $(AARCH64_APT) && $(AARCH64_APT_GET) update && $(AARCH64_APT_GET) download liblz4-dev:arm64 2>/dev/null
	dpkg-deb --fsys-tarfile $(AARCH64_APT)/liblz4-dev_*_arm64.deb | tar -xO ./usr/lib/aarch64-linux-gnu/liblz4.a >$@.new
	mv $@.new $@

$(C)/aarch64/%_test: Tests/C/%_test.c $(C_SOURCES) $(C)/aarch64/liblz4.a
	@mkdir -p $(@D)
	aarch64-linux-gnu-gcc $(filter-out -MMD -MP,$(C_FLAGS)) -O2 -g -static -DWEIR_FAULT_INJECTION $^ -o $@

.PHONY: $(AARCH64_RUNS)
$(AARCH64_RUNS): %.run: %
	timeout -s KILL 900 qemu-aarch64 $<

# ---- Models ----------------------------------------------------------------------------------------------------------

# The sources as they are, with each access to memory made a call, as gcc does it for ThreadSanitizer; Tests/Models has the
# functions called, in place of that library. Sources that never run beside another thread need none of it.
MODELS = $(C)/models
MODELS_CC = gcc
MODELS_FLAGS = $(C_FLAGS) -O1 -g -U_FORTIFY_SOURCE -ITests/Models
MODELS_SEEN_FLAGS = $(MODELS_FLAGS) -D_GNU_SOURCE= -fsanitize=thread -include Tests/Models/seam.h
MODELS_UNSEEN = batch/batch batch/batch_all batch/batcher directory/directory directory/locator directory/segment_list directory/quarantine \
                directory/sizes directory/log_start format/columns format/definition format/notice format/values \
                inspect/check inspect/check_batch inspect/findings inspect/stat inspect/tally inspect/verify \
                limits/age limits/claim limits/log_start_check read/event \
                read/reader read/segment_walk recover/orphan_ring recover/interrupted recover/unreported recover/lost_ring \
                recover/unsealed replay/orphan replay/drained ring/ring_owner segment/batch_frame segment/batch_source \
                segment/contents segment/definitions segment/identity segment/scan segment/scan_block segment/source \
                segment/unpack segment/read_buffer system/crc32c system/error system/failing system/system
MODELS_INCLUDED = capture/lane drain/drainer drain/prefaulter limits/retention seal/sealer
MODELS_DOORS = $(patsubst Tests/Models/%.c,%,$(wildcard Tests/Models/under_test_*.c))
MODELS_SEEN = $(filter-out $(MODELS_UNSEEN) $(MODELS_INCLUDED),$(C_SOURCES:Sources/CWeir/%.c=%))
MODELS_OWN = $(filter-out under_test_%,$(patsubst Tests/Models/%.c,%,$(wildcard Tests/Models/*.c)))
MODELS_OBJECTS = $(MODELS_SEEN:%=$(MODELS)/seen/%.o) $(MODELS_UNSEEN:%=$(MODELS)/unseen/%.o) \
                 $(MODELS_DOORS:%=$(MODELS)/seen/%.o) $(MODELS_OWN:%=$(MODELS)/own/%.o)

.PHONY: models models-long

models: need-c
	@if command -v $(MODELS_CC) >/dev/null 2>&1; then $(MAKE) --no-print-directory $(MODELS)/models && \
	  $(LIMITED) $(MODELS)/models; else echo 'skipped: models, for want of $(MODELS_CC)'; fi

models-long: need-c
	@$(MAKE) --no-print-directory $(MODELS)/models
	$(MODELS)/models --long

$(MODELS)/seen/under_test_%.o: Tests/Models/under_test_%.c
	@mkdir -p $(@D)
	$(MODELS_CC) $(MODELS_SEEN_FLAGS) -c $< -o $@

$(MODELS)/seen/%.o: Sources/CWeir/%.c
	@mkdir -p $(@D)
	$(MODELS_CC) $(MODELS_SEEN_FLAGS) -c $< -o $@

# What the models have of the system comes before the real one.
$(MODELS)/unseen/system/system.o: Sources/CWeir/system/system.c
	@mkdir -p $(@D)
	$(MODELS_CC) $(MODELS_FLAGS) -c $< -o $@
	objcopy --weaken $@

$(MODELS)/unseen/%.o: Sources/CWeir/%.c
	@mkdir -p $(@D)
	$(MODELS_CC) $(MODELS_FLAGS) -c $< -o $@

$(MODELS)/own/%.o: Tests/Models/%.c
	@mkdir -p $(@D)
	$(MODELS_CC) $(MODELS_FLAGS) -O2 -c $< -o $@

$(MODELS)/models: $(MODELS_OBJECTS)
	$(MODELS_CC) $(MODELS_OBJECTS) $(C_LIBS) -pthread -o $@

# ---- Counts ----------------------------------------------------------------------------------------------------------

# That a capture allocates nothing, takes no lock and makes no system call, shown by counting; what it may do is in
# Tests/Counts/baselines.txt. With a release build of the Swift library, which is what users run.
# The stress of hooks is built in the same folder, and the library once for both.
RELEASE_CHECKS = $(BUILD)/release-checks
COUNTS = $(C)/counts
COUNTING = Tests/Counts/Sources/Counting
COUNTS_CHECK = python3 Tests/Counts/check.py Tests/Counts/baselines.txt

.PHONY: counts counts-c

counts: counts-c need-swift need-lz4
	@touch Tests/Counts/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Tests/Counts --scratch-path $(RELEASE_CHECKS) $(SWIFT_FLAGS)
	$(COUNTS_CHECK) program $(RELEASE_CHECKS)/release/SwiftCounts
	$(COUNTS_CHECK) straight $(SWIFT) $(RELEASE_CHECKS)/release/SwiftCounts

counts-c: need-c need-strace need-python $(COUNTS)/c_counts
	$(COUNTS_CHECK) program $(COUNTS)/c_counts
	$(COUNTS_CHECK) idle $(COUNTS)/c_counts
	@for compiler in gcc clang; do command -v $$compiler >/dev/null 2>&1 || continue; \
	  $$compiler -std=gnu11 $(C_WARNINGS) -O2 -fPIC -Iinclude -c Tests/Counts/C/straight.c \
	    -o $(COUNTS)/straight-$$compiler.o || exit 1; \
	  $(COUNTS_CHECK) straight $$compiler $(COUNTS)/straight-$$compiler.o || exit 1; done

$(COUNTS)/c_counts: Tests/Counts/C/c_counts.c $(COUNTING)/counting.c $(COUNTING)/include/counting.h $(C)/libcweir.a \
                    $(C_HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(C_WARNINGS) $(CFLAGS) -Iinclude -I$(COUNTING)/include $(filter %.c %.a,$^) $(C_LIBS) -pthread -o $@

# ---- Stress ----------------------------------------------------------------------------------------------------------

# Seeded rounds of threads that do with logs whatever they may, judged to the last event: Tests/Stress/stress.c.
# gcc's ThreadSanitizer: the Swift toolchain's clang has one that does not link without Swift. setarch -R because it
# cannot place its shadow memory under every layout that the kernel draws. It stops at a report, so that none goes by.
STRESS_SECONDS = 60
STRESS_EVENTS = 100000000
STRESS_FLAGS =
STRESS_SOURCES = $(wildcard Tests/Stress/*.c)
TSAN_CC = gcc
TSAN_FLAGS = $(C_FLAGS) -O1 -g -fno-omit-frame-pointer -fsanitize=thread
TSAN_OBJECTS = $(C_SOURCES:Sources/CWeir/%.c=$(C)/tsan/%.o) $(STRESS_SOURCES:Tests/Stress/%.c=$(C)/tsan/stress/%.o)
SOAK_OBJECTS = $(STRESS_SOURCES:Tests/Stress/%.c=$(C)/plain/stress/%.o)
# Some containers forbid setarch; there it has to do without.
TSAN_RUN = TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 \
  $$(setarch -R true 2>/dev/null && echo setarch -R) timeout -s KILL

need-gcc:
	@command -v $(TSAN_CC) >/dev/null 2>&1 || $(call install,gcc libc6-dev)

stress: need-gcc $(C)/tsan/stress/stress
	$(TSAN_RUN) $$(($(STRESS_SECONDS) + 240)) $(C)/tsan/stress/stress --seconds $(STRESS_SECONDS) $(STRESS_FLAGS)

# What `make test` runs.
stress-short: need-gcc $(C)/tsan/stress/stress
	$(IN_MEMORY) $(TSAN_RUN) 1800 $(C)/tsan/stress/stress --seconds 20 $(STRESS_FLAGS)

soak: need-c $(C)/plain/stress/stress
	$(C)/plain/stress/stress --soak --events $(STRESS_EVENTS) $(STRESS_FLAGS)

$(C)/tsan/%.o: Sources/CWeir/%.c
	@mkdir -p $(@D)
	$(TSAN_CC) $(TSAN_FLAGS) -c $< -o $@

$(C)/tsan/stress/%.o: Tests/Stress/%.c
	@mkdir -p $(@D)
	$(TSAN_CC) $(TSAN_FLAGS) -ITests/C -c $< -o $@

$(C)/tsan/stress/stress: $(TSAN_OBJECTS)
	$(TSAN_CC) $(TSAN_FLAGS) $^ $(C_LIBS) -o $@

$(C)/plain/stress/%.o: Tests/Stress/%.c
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) $(CFLAGS) -ITests/C -c $< -o $@

$(C)/plain/stress/stress: $(SOAK_OBJECTS) $(C)/libcweir.a
	$(CC) $(C_FLAGS) $(CFLAGS) $^ $(C_LIBS) -o $@

# Hooks that are attached and detached while they fire: Tests/HookStress.
HOOK_FIRINGS = 10000000
HOOK_STRESS_FLAGS =
HOOK_TWIN_FIRINGS = 10000000
HOOK_STRESS = $(SWIFT) build -c release -j $(JOBS) --package-path Tests/HookStress $(SWIFT_FLAGS)

.PHONY: hook-stress hook-stress-short hook-twins test-thread-sanitizer

hook-stress: need-swift need-lz4
	@touch Tests/HookStress/Package.swift # or files that are new in the package it depends on are not seen
	$(HOOK_STRESS) --scratch-path $(BUILD)/hook-stress-tsan --sanitize=thread
	$(TSAN_RUN) 1800 $(BUILD)/hook-stress-tsan/release/HookStress --firings $(HOOK_FIRINGS) $(HOOK_STRESS_FLAGS)

# What `make test` runs, without the sanitizer.
hook-stress-short: need-swift need-lz4
	@touch Tests/HookStress/Package.swift
	$(HOOK_STRESS) --scratch-path $(RELEASE_CHECKS)
	timeout -s KILL 1200 $(RELEASE_CHECKS)/release/HookStress --firings 2000000 $(HOOK_STRESS_FLAGS)

# What an adopter's program does, under ThreadSanitizer. Some minutes to build, so not a part of make test.
test-thread-sanitizer: need-swift need-lz4
	@touch Tests/ThreadSanitizer/Package.swift
	$(SWIFT) build -j $(JOBS) --package-path Tests/ThreadSanitizer $(SWIFT_FLAGS) \
	  --scratch-path $(BUILD)/thread-sanitizer --sanitize=thread
	$(TSAN_RUN) 600 $(BUILD)/thread-sanitizer/debug/Adopter

# The stress over a copy of the library with a fault: a wait left out, a release too early. Each must be found. TWIN is the
# name of one of them.
hook-twins: need-swift need-lz4
	Tests/HookStress/Twins/try.sh $(BUILD) '$(SWIFT)' $(JOBS) $(HOOK_TWIN_FIRINGS) $(TWIN)

# ---- Loss table ------------------------------------------------------------------------------------------------------

# One kill schedule against what programs use today and Weir: Tests/CrashReplay/LossTable. What the stores write lies
# under $(BUILD), on the disk that it is on. Without SQLite's library its rows are "not run".
LOSS = $(C)/loss-table
LOSS_PAGE = Sources/Weir/Weir.docc/Guides/Losses.md
LOSS_KILLS = 40
LOSS_FLAGS =
LOSS_SOURCES = $(wildcard Tests/CrashReplay/LossTable/*.c)

.PHONY: loss-table loss-table-page loss-table-short need-sqlite

need-sqlite:
	@[ -e /usr/include/sqlite3.h ] || ( $(call install,libsqlite3-dev) ) || true

loss-table: need-c need-sqlite
	@$(MAKE) --no-print-directory $(LOSS)/loss_table
	TMPDIR=$(abspath $(LOSS)) $(LOSS)/loss_table --kills $(LOSS_KILLS) $(LOSS_FLAGS)

# The same, into the page of losses.
loss-table-page:
	@mkdir -p $(C)
	@$(MAKE) --no-print-directory loss-table LOSS_FLAGS='--markdown $(LOSS_FLAGS)' >$(LOSS).md
	awk 'NR == FNR { if (/^\|/) on = 1; if (on && !/ passed, /) table = table $$0 "\n"; next } \
	     $$0 == "<!-- loss-table -->" { printf "%s\n%s", $$0, table; off = 1 } \
	     $$0 == "<!-- end -->" { off = 0 } !off' $(LOSS).md $(LOSS_PAGE) >$(LOSS).page
	cp $(LOSS).page $(LOSS_PAGE)

# What `make test` runs.
loss-table-short: need-c need-sqlite
	@$(MAKE) --no-print-directory $(LOSS)/loss_table
	TMPDIR=$(abspath $(LOSS)) $(LIMITED) $(LOSS)/loss_table --check

$(LOSS)/loss_table: $(LOSS_SOURCES) Tests/CrashReplay/LossTable/subject.h Tests/C/check.h $(C)/libcweir.a
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(C_FLAGS)) $(CFLAGS) -ITests/C $(filter %.c %.a,$^) \
	  $(C_LIBS) $$([ ! -e /usr/include/sqlite3.h ] || echo -lsqlite3) -o $@

# ---- Crash replay ----------------------------------------------------------------------------------------------------

# What dying, disks and power cuts may do to a log: Tests/CrashReplay/README.md. Each *_replay.c and *_cases.c there is
# a program, all other files are shared by them. Those in REPLAY_PLAIN run the library as users have it, the others one
# with the fault points of system.c, which checks its invariants, too.
ROUNDS = 10000
IMAGES = 100000
SECONDS = 0
SEED =
REPLAY = $(C)/replay
REPLAY_PLAIN = step_replay
REPLAY_PROGRAMS = $(patsubst Tests/CrashReplay/%.c,%,$(wildcard Tests/CrashReplay/*_replay.c) \
                    $(wildcard Tests/CrashReplay/*_cases.c))
REPLAY_CASES = $(filter %_cases,$(REPLAY_PROGRAMS))
REPLAY_SHARED = $(filter-out $(REPLAY_PROGRAMS),$(patsubst Tests/CrashReplay/%.c,%,$(wildcard Tests/CrashReplay/*.c)))
REPLAY_FLAGS = $(C_FLAGS) $(CFLAGS) -DCHECKS_ARE_SHARED -DWEIR_FAULT_INJECTION -ITests/C -ITests/CrashReplay
REPLAY_OPTIONS = $(if $(SEED),--seed $(SEED)) --seconds $(SECONDS)
REPLAY_SEAM_OBJECTS = $(C_SOURCES:Sources/CWeir/%.c=$(REPLAY)/seam/%.o)
REPLAY_CASE_RUNS = $(REPLAY_CASES:%=$(REPLAY)/%.run)
# Cases of disks, which may lie on one.
REPLAY_DISK_CASES = disk_cases full_disk_cases limit_cases meddling_cases restart_cases
# The sweeps that `make test` runs.
REPLAY_SWEEP_1 = case 1:
REPLAY_SWEEP_2 = case 2: drain
REPLAY_SWEEP_9 = case 9:
REPLAY_SWEEP_10 = case 10:
REPLAY_SHORT_RUNS = crash-replay-step-10 crash-replay-step-9 crash-replay-step-1 crash-replay-step-2 crash-replay-kill \
                    crash-replay-power

.PHONY: crash-replay crash-replay-short crash-replay-cases crash-replay-twins $(REPLAY_CASE_RUNS) $(REPLAY_SHORT_RUNS)

crash-replay: need-c need-python $(REPLAY_PROGRAMS:%=$(REPLAY)/%)
	@$(MAKE) --no-print-directory crash-replay-cases
	$(REPLAY)/interrupted_cases --long
	$(REPLAY)/kill_replay --rounds $(ROUNDS) $(REPLAY_OPTIONS)
	$(REPLAY)/step_replay $(if $(SEED),--seed $(SEED))
	$(REPLAY)/disk_replay --rounds 300 $(REPLAY_OPTIONS)
	$(REPLAY)/power_replay --rounds $(IMAGES) $(REPLAY_OPTIONS)
	@$(MAKE) --no-print-directory crash-replay-twins
	python3 Tests/CrashReplay/cases.py >/dev/null

# What `make test` runs.
crash-replay-short: need-c $(REPLAY_PROGRAMS:%=$(REPLAY)/%)
	@$(MAKE) --no-print-directory -j $(JOBS) --output-sync=target crash-replay-cases
	@$(MAKE) --no-print-directory $(REPLAY_SHORT_RUNS)

crash-replay-kill: $(REPLAY)/kill_replay
	$(LIMITED) $< --rounds 100 $(REPLAY_OPTIONS)

crash-replay-power: $(REPLAY)/power_replay
	$(LIMITED) $< --rounds 500 $(REPLAY_OPTIONS)

$(filter crash-replay-step-%,$(REPLAY_SHORT_RUNS)): crash-replay-step-%: $(REPLAY)/step_replay
	$(LIMITED) $< --only '$(REPLAY_SWEEP_$*)' $(if $(SEED),--seed $(SEED))

crash-replay-cases: $(REPLAY_CASE_RUNS)

# The sweeps over a library with a fault: a store moved before another one, a count forgotten. Each must be found. TWIN
# is the name of one of them.
TWIN =

crash-replay-twins: need-c
	@mkdir -p $(REPLAY)
	Tests/CrashReplay/Twins/try.sh $(REPLAY) '$(CC)' $(TWIN)

# The same of delivery, which is in Swift. Builds the package for each.
.PHONY: delivery-twins

delivery-twins: need-swift need-lz4
	Tests/CrashReplay/Twins/try-delivery.sh $(BUILD) $(SWIFT) $(JOBS) $(TWIN)

# Disks: power cuts of real file systems, and the long forms of the checks that `make test` runs a sample of. They need
# root; what can't be done is skipped, aloud.
POWER_CUT_ROUNDS = $(if $(filter command%,$(origin ROUNDS)),$(ROUNDS),300)

.PHONY: power-cut disks-long need-disks

power-cut: need-c need-disks $(REPLAY)/disk_replay
	$(REPLAY)/disk_replay --rounds $(POWER_CUT_ROUNDS) $(REPLAY_OPTIONS)

disks-long: need-c need-disks $(REPLAY)/full_disk_cases $(C)/checked/fault_test
	$(REPLAY)/full_disk_cases --long
	$(C)/checked/fault_test --long

need-disks:
	@PATH=$$PATH:/usr/sbin:/sbin; command -v mkfs.ext4 >/dev/null 2>&1 && command -v mkfs.xfs >/dev/null 2>&1 && \
	  command -v nbdkit >/dev/null 2>&1 && command -v nbdfuse >/dev/null 2>&1 && command -v losetup >/dev/null 2>&1 || \
	  $(call install,e2fsprogs xfsprogs nbdkit libnbd-bin fuse3 mount)

$(REPLAY_CASE_RUNS): %.run: %
	$(if $(filter $(REPLAY_DISK_CASES:%=%.run),$(@F)),,$(IN_MEMORY)) $(LIMITED) $<

$(REPLAY)/seam/%.o: Sources/CWeir/%.c
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) $(CFLAGS) -DWEIR_FAULT_INJECTION -c $< -o $@

$(REPLAY)/seam/libcweir.a: $(REPLAY_SEAM_OBJECTS)
	@rm -f $@
	ar rcs $@ $(REPLAY_SEAM_OBJECTS)

$(REPLAY)/%.o: Tests/CrashReplay/%.c
	@mkdir -p $(@D)
	$(CC) $(REPLAY_FLAGS) -c $< -o $@

$(REPLAY)/libreplay.a: $(REPLAY_SHARED:%=$(REPLAY)/%.o)
	@rm -f $@
	ar rcs $@ $^

$(REPLAY_PLAIN:%=$(REPLAY)/%): %: %.o $(REPLAY)/libreplay.a $(C)/libcweir.a
	$(CC) $(REPLAY_FLAGS) $^ $(C_LIBS) -o $@

$(filter-out $(REPLAY_PLAIN:%=$(REPLAY)/%),$(REPLAY_PROGRAMS:%=$(REPLAY)/%)): %: %.o $(REPLAY)/libreplay.a \
                                                                             $(REPLAY)/seam/libcweir.a
	$(CC) $(REPLAY_FLAGS) $^ $(C_LIBS) -o $@

# ---- Fuzz ------------------------------------------------------------------------------------------------------------

# Hostile files: Tests/Fuzz/README.md. Each target is built with the Swift toolchain's clang, which has libFuzzer, and
# again with the compiler of the other checks, to replay what was found. `make fuzz SECONDS=N` runs each target so long.
FUZZ = $(C)/fuzz
FUZZ_TARGETS = segment batch ring directory payload
FUZZ_CC = $(dir $(shell readlink -f "$$(command -v $(SWIFT))"))clang
FUZZ_SECONDS = $(if $(filter-out 0,$(SECONDS)),$(SECONDS),60)
FUZZ_ROUNDS = $(if $(filter command%,$(origin ROUNDS)),$(ROUNDS),100000)
FUZZ_SANITIZERS = -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_FLAGS = $(C_FLAGS) -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link $(FUZZ_SANITIZERS) \
             -fno-sanitize=function -ITests/Fuzz
FUZZ_SHARED = archive pack structure structure_batch mutate examine
FUZZ_OBJECTS = $(C_SOURCES:Sources/CWeir/%.c=$(FUZZ)/lib/%.o) $(FUZZ_SHARED:%=$(FUZZ)/%.o)
FUZZ_LIMITS = -rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=30 -max_len=262144 -print_final_stats=1
FUZZ_REPLAYS = $(FUZZ_TARGETS:%=$(FUZZ)/replay-%)
FUZZ_focus_segment = -DFUZZ_FOCUS=FOCUS_SEGMENTS
FUZZ_focus_batch = -DFUZZ_FOCUS=FOCUS_BATCH
FUZZ_focus_ring = -DFUZZ_FOCUS=FOCUS_RING
FUZZ_focus_directory = -DFUZZ_FOCUS=FOCUS_ALL

.PHONY: fuzz fuzz-short fuzz-replays-short fuzz-cases-short fuzz-mutated-short fuzz-mutated fuzz-corpus \
        $(FUZZ_TARGETS:%=fuzz-%)

fuzz: need-swift need-c
	@$(MAKE) --no-print-directory -j $(JOBS) $(FUZZ_TARGETS:%=$(FUZZ)/%)
	@$(MAKE) --no-print-directory -j 2 --keep-going $(FUZZ_TARGETS:%=fuzz-%)

# New inputs go to the build folder; `make fuzz-corpus` takes what is worth keeping of them into the tree.
$(FUZZ_TARGETS:%=fuzz-%): fuzz-%: $(FUZZ)/%
	@mkdir -p $(FUZZ)/found/$* $(FUZZ)/artifacts
	ASAN_OPTIONS=detect_leaks=0 SWIFT_BACKTRACE=enable=no nice -n 10 $(FUZZ)/$* $(FUZZ)/found/$* \
	  Tests/Fuzz/corpus/$* $$(ls -d Tests/Fuzz/cases/$* 2>/dev/null) -max_total_time=$(FUZZ_SECONDS) $(FUZZ_LIMITS) \
	  -artifact_prefix=$(FUZZ)/artifacts/$*- >$(FUZZ)/$*.log 2>&1 || { tail -40 $(FUZZ)/$*.log; exit 1; }
	@grep -E 'executed_units|peak_rss' $(FUZZ)/$*.log | sed 's/^/$*: /'

fuzz-corpus: $(FUZZ_TARGETS:%=$(FUZZ)/%)
	@for target in $(FUZZ_TARGETS); do mkdir -p $(FUZZ)/found/$$target Tests/Fuzz/corpus/$$target; \
	  ASAN_OPTIONS=detect_leaks=0 $(FUZZ)/$$target -merge=1 -use_counters=0 -max_len=16384 Tests/Fuzz/corpus/$$target \
	    $(FUZZ)/found/$$target >$(FUZZ)/$$target.merge.log 2>&1 || exit 1; done

# What `make test` runs: the corpus, the cases, a thousand mutated logs.
fuzz-short: fuzz-replays-short fuzz-cases-short fuzz-mutated-short

fuzz-replays-short: need-c $(FUZZ_REPLAYS)
	@for target in $(FUZZ_TARGETS); do \
	  $(CHECKED_RUN) $(LIMITED) $(FUZZ)/replay-$$target Tests/Fuzz/corpus/$$target \
	    $$(ls -d Tests/Fuzz/cases/$$target 2>/dev/null) || exit 1; done

fuzz-cases-short: need-c $(FUZZ)/input_cases
	$(CHECKED_RUN) $(LIMITED) $(FUZZ)/input_cases

fuzz-mutated-short: need-c $(FUZZ)/mutated_files
	$(CHECKED_RUN) $(LIMITED) $(FUZZ)/mutated_files --rounds 1000

fuzz-mutated: need-c $(FUZZ)/mutated_files $(FUZZ)/input_cases
	$(FUZZ)/input_cases --long
	$(FUZZ)/mutated_files --rounds $(FUZZ_ROUNDS) $(if $(SEED),--seed $(SEED))

$(FUZZ)/lib/%.o: Sources/CWeir/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -c $< -o $@

$(FUZZ)/%.o: Tests/Fuzz/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -c $< -o $@

$(FUZZ)/segment_fuzz.o $(FUZZ)/batch_fuzz.o $(FUZZ)/ring_fuzz.o $(FUZZ)/directory_fuzz.o: $(FUZZ)/%_fuzz.o: Tests/Fuzz/directory_fuzz.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) $(FUZZ_focus_$*) -c $< -o $@

# -fuse-ld: gold, the toolchain's default, warns of every symbol of the sanitizer.
$(FUZZ_TARGETS:%=$(FUZZ)/%): $(FUZZ)/%: $(FUZZ)/%_fuzz.o $(FUZZ_OBJECTS)
	$(FUZZ_CC) -fuse-ld=lld -fsanitize=fuzzer $(FUZZ_SANITIZERS) -pthread $^ $(C_LIBS) -o $@

$(FUZZ)/checked/%.o: Tests/Fuzz/%.c
	@mkdir -p $(@D)
	$(CC) $(CHECKED_FLAGS) -c $< -o $@

$(FUZZ)/replay-payload: $(FUZZ)/checked/payload_fuzz.o
$(filter-out %-payload,$(FUZZ_REPLAYS)): $(FUZZ)/checked/directory_fuzz.o
$(FUZZ_REPLAYS): $(FUZZ)/checked/replay_inputs.o $(FUZZ_SHARED:%=$(FUZZ)/checked/%.o) $(C)/checked/libcweir.a
	$(CC) $(CHECKED_FLAGS) $(filter %.o,$^) $(filter %.a,$^) $(C_LIBS) -o $@

$(FUZZ)/mutated_files $(FUZZ)/input_cases $(FUZZ)/make_corpus: $(FUZZ)/%: $(FUZZ)/checked/%.o $(FUZZ)/checked/seeds.o \
                                           $(FUZZ_SHARED:%=$(FUZZ)/checked/%.o) $(C)/checked/libcweir.a
	$(CC) $(CHECKED_FLAGS) $^ $(C_LIBS) -o $@

# ---- Benchmarks ------------------------------------------------------------------------------------------------------

BENCH = $(BUILD)/bench
BENCH_FLAGS =
BENCH_RUN = $(BENCH)/package/release/capture-bench --results $(BENCH)/results.jsonl \
            --commit "$$(git describe --always --dirty 2>/dev/null || echo unknown)"
BENCH_PACKAGES = libconcurrentqueue-dev liblttng-ust-dev liblttng-ctl-dev lttng-tools babeltrace2 libspdlog-dev \
                 libsqlite3-dev librocksdb-dev pkg-config python3-matplotlib

bench-build: need-swift need-lz4 need-c
	@$(MAKE) --no-print-directory bench-peers
	@touch Benchmarks/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks --scratch-path $(BENCH)/package $(SWIFT_FLAGS) \
	  --product capture-bench

bench: bench-build
	$(BENCH_RUN) $(BENCH_FLAGS)
	@$(MAKE) --no-print-directory bench-charts
	@$(MAKE) --no-print-directory batch-bench
	@$(MAKE) --no-print-directory delivery-bench
	@$(MAKE) --no-print-directory hook-bench

bench-quick: bench-build
	$(BENCH_RUN) --quick $(BENCH_FLAGS)

# What recovery costs, in C alone. RECOVERY_BENCH_FLAGS: --rounds N, --only open, scan or lanes. TMPDIR says on which file
# system.
RECOVERY_BENCH_FLAGS =

.PHONY: recovery-bench

recovery-bench: need-c $(C)/bench/recovery_bench
	$(C)/bench/recovery_bench $(RECOVERY_BENCH_FLAGS)

$(C)/bench/recovery_bench: Benchmarks/Recovery/recovery_bench.c Tests/C/check.h $(C)/libcweir.a
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) $(CFLAGS) $< $(C)/libcweir.a $(C_LIBS) -o $@

# What batch segments cost, and how much smaller they are. BATCH_BENCH_FLAGS: --rounds N, --mib N, --sample FILE.
BATCH_BENCH_FLAGS =

.PHONY: batch-bench

batch-bench: need-c need-lz4-tool $(C)/bench/batch_bench
	$(C)/bench/batch_bench $(BATCH_BENCH_FLAGS)

$(C)/bench/batch_bench: Benchmarks/Batching/batch_bench.c Tests/C/check.h $(C)/libcweir.a
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) $(CFLAGS) $< $(C)/libcweir.a $(C_LIBS) -o $@

# What delivery costs. The tool is the endpoint that takes events over HTTP and the process that sends them; its packages
# are those of the traits. DELIVERY_BENCH_FLAGS: --events N, --rounds N, --batches 1000,10000.
DELIVERY_BENCH_FLAGS =

.PHONY: delivery-bench

delivery-bench: need-swift need-lz4 need-zlib
	@touch Benchmarks/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks --scratch-path $(BENCH)/package $(SWIFT_FLAGS) \
	  --product delivery-bench
	$(SWIFT) build -c release -j $(JOBS) --scratch-path $(BENCH)/tool $(SWIFT_FLAGS) --traits HTTP,Collector --product weir
	$(BENCH)/package/release/delivery-bench --tool $(BENCH)/tool/release/weir --directory $(BENCH) \
	  --results $(BENCH)/delivery.jsonl $(DELIVERY_BENCH_FLAGS)

# What a join point costs a call, on one processor. HOOK_BENCH_FLAGS: --check (fails if it is more than promised),
# --bursts N, --calls N.
HOOK_BENCH_FLAGS =

.PHONY: hook-bench

hook-bench: need-swift need-lz4
	@touch Benchmarks/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks --scratch-path $(BENCH)/package $(SWIFT_FLAGS) \
	  --product hook-bench
	$$(taskset -c 1 true 2>/dev/null && echo taskset -c 1) $(BENCH)/package/release/hook-bench $(HOOK_BENCH_FLAGS)

# Single calls under ordo-one's benchmark; in a folder of its own, for its packages are not those of the others.
bench-micro: need-swift need-lz4
	WEIR_MICRO=1 $(SWIFT) package --package-path Benchmarks --scratch-path $(BENCH)/micro $(SWIFT_FLAGS) benchmark

bench-deps: need-c
	@$(call install,$(BENCH_PACKAGES))

# What waiting for the disk costs on the disk that $(DIR) is on.
DIR = $(BUILD)
bench-sync: need-c $(C)/libcweir.a
	$(CC) $(C_FLAGS) $(CFLAGS) Benchmarks/Syncs/syncs.c $(C)/libcweir.a $(C_LIBS) -o $(C)/syncs
	$(C)/syncs $(DIR)

# From the results of the last `make bench`: the charts and tables of the documentation.
bench-charts:
	@if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then \
	  /usr/bin/python3 Benchmarks/charts.py $(BENCH)/results.jsonl $(BENCH)/machine.json; \
	else echo 'skipped: charts, for want of python3-matplotlib (make bench-deps installs it)'; fi

# The libraries that Weir is measured beside, each behind a small library of its own, where its headers are.
PEERS = $(BENCH)/peers
PEER_FLAGS = -O2 -g -fPIC -shared $(C_WARNINGS) -IBenchmarks/Sources/CaptureSubjects/include -Iinclude
PEER_NAMES = $(if $(wildcard /usr/include/concurrentqueue/concurrentqueue.h),moodycamel) \
             $(if $(wildcard /usr/include/spdlog/spdlog.h),spdlog) \
             $(if $(wildcard /usr/include/sqlite3.h),sqlite-wal-1 sqlite-wal-1000) \
             $(if $(wildcard /usr/include/rocksdb/db.h),rocksdb-wal) \
             $(if $(and $(wildcard /usr/include/lttng/lttng.h),$(wildcard /usr/include/*/lttng/tracepoint.h)),lttng-ust)
PEER_HEADERS = Benchmarks/Sources/CaptureSubjects/include/peer.h include/weir_capture.h
CXX_PEER = @mkdir -p $(@D) && echo 'building $@' && $(CXX) -std=c++17 $(PEER_FLAGS) $< -o $@ -pthread
C_PEER = @mkdir -p $(@D) && echo 'building $@' && $(CC) -std=gnu11 $(PEER_FLAGS) $< -o $@

bench-peers: $(PEER_NAMES:%=$(PEERS)/libpeer-%.so)

$(PEERS)/libpeer-moodycamel.so: Benchmarks/Peers/moodycamel.cpp $(PEER_HEADERS)
	$(CXX_PEER)

$(PEERS)/libpeer-spdlog.so: Benchmarks/Peers/spdlog.cpp $(PEER_HEADERS)
	$(CXX_PEER) $$(pkg-config --cflags --libs spdlog)

$(PEERS)/libpeer-sqlite-wal-%.so: Benchmarks/Peers/sqlite_wal.cpp $(PEER_HEADERS)
	$(CXX_PEER) -DEVENTS_A_TRANSACTION=$* -lsqlite3

$(PEERS)/libpeer-rocksdb-wal.so: Benchmarks/Peers/rocksdb_wal.cpp $(PEER_HEADERS)
	$(CXX_PEER) -lrocksdb

$(PEERS)/liblttng-%.so: Benchmarks/Peers/lttng-ust/%.c Benchmarks/Peers/lttng-ust/event.h $(PEER_HEADERS)
	$(C_PEER) -IBenchmarks/Peers/lttng-ust -llttng-ust

$(PEERS)/libpeer-lttng-ust.so: Benchmarks/Peers/lttng-ust/peer.c $(PEER_HEADERS) \
                               $(PEERS)/liblttng-event.so $(PEERS)/liblttng-clock.so
	$(C_PEER) -llttng-ctl -ldl

.PHONY: bench-sync bench-micro bench-deps bench-charts bench-peers

-include $(wildcard $(C)/*/*.d $(C)/*/*/*.d $(C)/*/*/*/*.d)
