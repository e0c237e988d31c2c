# Makefile: the commands that show, build, test and measure Weir. `make help` lists them. What tests and benchmarks need
# lies with them, in files *.mk, each of which begins with the commands that it adds.
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

.PHONY: help build demo test test-c test-swift crash fuzz stress bench format lint clean \
        need-swift need-lz4 need-lz4-tool need-zlib need-ncurses need-brokers need-nats-server need-cc need-c \
        need-python need-strace

help:
	@echo 'make build         release build of the libraries and of the tool, $(BUILD)/release/weir'
	@echo 'make demo          see it: capture, kill -9, everything is there (installs liblz4-dev, builds release)'
	@echo 'make install       the C library, without Swift (PREFIX=, DESTDIR=); make install-tool: the tool'
	@echo 'make amalgamation  the C library as one file, weir.c, and its reader alone: $(BUILD)/amalgamation'
	@echo 'make deb           Debian packages of the C library and of the tool: $(BUILD)/deb'
	@echo 'make test          every check: the C library, the Swift packages, the style (installs what it needs)'
	@echo 'make test-c        the C checks alone'
	@echo 'make test-swift    the Swift checks alone'
	@echo 'make crash         the crash tests at length: 200 kills, a million events'
	@echo 'make crash-replay  kills, sweeps and cases of the core at length (ROUNDS=, SECONDS=, SEED=)'
	@echo 'make fleet-crash   hosts, brokers and collectors killed at random: each event once (ROUNDS=, KILLS=, SERVER=)'
	@echo 'make test-service  a service under load, killed at random: each answer is in the log (ROUNDS=, SEED=)'
	@echo 'make fuzz          fuzzes every reader of files for SECONDS each (60), under AddressSanitizer'
	@echo 'make stress        threads that do whatever they may for STRESS_SECONDS, under ThreadSanitizer'
	@echo 'make test-monitor  the monitor in Chromium and in tmux; installs both'
	@echo 'make docs          the documentation of every module, as a web site: $(BUILD)/docs/Weir.doccarchive'
	@echo 'make bench         all benchmarks, charts, the tables of the documentation'
	@echo 'make format        lays out the Swift sources as .swift-format says'
	@echo 'make lint          checks that they are laid out so'
	@echo 'make clean         removes $(BUILD)'
	@echo
	@echo 'Variables: BUILD (folder of all products), JOBS (parallel Swift compilations, $(JOBS)), SWIFT_FLAGS, CC, CXX.'
	@echo 'Single checks and benchmarks: the first lines of'
	@echo '  $(filter-out Makefile,$(filter %.mk,$(MAKEFILE_LIST)))'

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

# The monitor in a terminal is drawn by it.
need-ncurses:
	@[ -e /usr/include/ncurses.h ] || $(call install,libncurses-dev)

# Brokers, to deliver to and to collect from.
need-brokers:
	@[ -e /usr/include/nats/nats.h ] || $(call install,libnats-dev)
	@[ -e /usr/include/librdkafka/rdkafka.h ] || $(call install,librdkafka-dev)

# The tests start such servers.
need-nats-server:
	@command -v nats-server >/dev/null 2>&1 || $(call install,nats-server)

# The tests have batch segments read by it.
need-lz4-tool:
	@command -v lz4 >/dev/null 2>&1 || $(call install,lz4)

need-cc: need-lz4
	@command -v $(CC) >/dev/null 2>&1 || $(call install,gcc libc6-dev)

# The tests take a compiler for C++, too.
need-c: need-cc
	@command -v $(CXX) >/dev/null 2>&1 || $(call install,g++)

# The tests kill the tool at chosen system calls with it; without it they would skip that.
need-strace:
	@command -v strace >/dev/null 2>&1 || $(call install,strace)

need-python:
	@command -v python3 >/dev/null 2>&1 || $(call install,python3)

# ---- Build and show --------------------------------------------------------------------------------------------------

SWIFT_BUILD = $(SWIFT) build -j $(JOBS) --scratch-path $(BUILD) $(SWIFT_FLAGS)
# The tests are of everything; a release build leaves swift-syntax out, which alone would take minutes. Without debug
# information the tests are built in a tenth less of processor time: make SWIFT_FLAGS='-debug-info-format dwarf' has it.
# The index for editors takes another tenth, and SwiftPM finds the tests by it.
TEST_TRAITS = --traits Tool,Macros,YAML,HTTP,Collector,Lifecycle,Metrics,Configuration,Hummingbird,Monitor,NATS,Kafka
TEST_BUILD = $(SWIFT) build -j $(JOBS) --scratch-path $(BUILD) -debug-info-format none $(SWIFT_FLAGS) $(TEST_TRAITS)
BUILD_TRAITS = --traits Tool,YAML,HTTP,Collector,Monitor,NATS,Kafka
# A few tests at a time: all 1,200 begun at once stand in one queue of as many threads as there are cores, where each
# step of a test waits for a step of every other, and time-outs that are generous end. For the same reason the tests
# that wait for processes, and hold a thread while they do, have a run of their own.
# Without SwiftPM, of which two at a time lock each other's database.
TEST_BUNDLE = $(BUILD)/debug/weirPackageTests.xctest
SWIFT_TEST = SWIFT_BACKTRACE=enable=no NO_COLOR=1 $(TEST_BUNDLE) --testing-library swift-testing \
  --experimental-maximum-parallelization-width 6

demo: need-swift need-lz4
	$(SWIFT_BUILD) -c release --traits Tool --product weir
	$(BUILD)/release/weir demo

build: need-swift need-lz4 need-zlib need-ncurses need-brokers
	$(SWIFT_BUILD) -c release $(BUILD_TRAITS)

# ---- Test ------------------------------------------------------------------------------------------------------------

test: need-swift need-lz4 need-lz4-tool need-zlib need-ncurses need-brokers need-nats-server need-c need-strace \
      need-python
	@$(MAKE) --no-print-directory test-c
	@$(MAKE) --no-print-directory test-swift

crash: need-swift need-lz4 need-lz4-tool need-zlib need-ncurses need-brokers need-strace
	$(TEST_BUILD) --build-tests
	WEIR_LONG=1 WEIR_KILLS=$${WEIR_KILLS:-200} $(SWIFT_TEST) --filter EndToEndTests

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
C_FLAGS = -std=gnu11 $(C_WARNINGS) -fPIC -pthread -Iinclude -ISources/CWeir -MMD -MP -ffile-prefix-map=$(CURDIR)=.
C_OBJECTS = $(C_SOURCES:Sources/CWeir/%.c=$(C)/plain/%.o)
# What a program with the library in it links as well: batch segments are LZ4.
C_LIBS = -llz4

# Changes with the compiler and its flags, as a Debian package sets them.
COMPILER = $(CC) $(C_FLAGS) $(CFLAGS) $(LDFLAGS)

$(C)/compiler: always
	@$(if $(subst x$(file <$@)x,,x$(COMPILER)x),$(shell mkdir -p $(@D))$(file >$@,$(COMPILER))):

$(C_OBJECTS): | need-cc

$(C)/plain/%.o: Sources/CWeir/%.c $(C)/compiler
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) $(CFLAGS) -c $< -o $@

$(C)/libweir.a: $(C_OBJECTS)
	@rm -f $@
	ar rcs $@ $(C_OBJECTS)

# ---- Checks and benchmarks -------------------------------------------------------------------------------------------

include Packaging/packaging.mk
include Packaging/amalgamation.mk
include Tests/Packaging/packaging-tests.mk
include Tests/swift.mk
include Languages/Python/python.mk
include Languages/Go/go.mk
include Tests/C/c.mk
include Tests/Amalgamation/amalgamation-tests.mk
include Tests/Musl/musl.mk
include Tests/Monitor/monitor.mk
include Tests/Models/models.mk
include Tests/Counts/counts.mk
include Tests/Stress/stress.mk
include Tests/Surface/surface.mk
include Tests/CrashReplay/LossTable/loss-table.mk
include Tests/CrashReplay/crash-replay.mk
include Tests/Fleet/fleet.mk
include Tests/Service/service.mk
include Tests/Fuzz/fuzz.mk
include Benchmarks/bench.mk

-include $(wildcard $(C)/*/*.d $(C)/*/*/*.d $(C)/*/*/*/*.d)
