# c.mk: the checks of the C library.
#
#   make test-c-again       each of them TIMES ($(TIMES)) times beside two endless loops (CHECKS= names some)
#   make test-c-core        the programs Tests/C/*_test.c alone
#   make test-c-headers     each public header alone, strictly, as C11 and C++17
#   make test-c-examples    programs in C and C++ without Swift
#   make test-golden        the logs of earlier versions, read by two readers
#   make test-symbols       the names that the library shares with a program
#   make test-layers        the folders of the core in their order
#   make test-labels        the barrier tables: each order has its label, each label its row
#   make check-aarch64      compiles the C library for 64-bit ARM (needs gcc-aarch64-linux-gnu)
#   make test-aarch64       the C tests on an emulated 64-bit ARM (installs gcc-aarch64-linux-gnu and qemu-user)

.PHONY: test-c-headers test-c-examples test-c-core test-golden check-aarch64 test-aarch64

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
	@$(MAKE) --no-print-directory -j $(JOBS) --output-sync=target test-amalgamation test-packaging test-python test-go \
	  test-readers
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
	@for header in $(notdir $(C_HEADERS)) weir_firing.h weir_clocks.h weir_ids.h; do \
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
test-c-examples: libweir
	@mkdir -p $(C)/examples
	$(CC) -std=c11 -pedantic-errors $(C_WARNINGS) -O2 -Iinclude Tests/C/example.c $(C)/libweir.a $(C_LIBS) -pthread \
	  -o $(C)/examples/example-c
	$(CXX) -std=c++17 -pedantic-errors $(C_WARNINGS) -O2 -Iinclude Tests/C/example.cpp $(C)/libweir.a $(C_LIBS) -pthread \
	  -o $(C)/examples/example-cpp
	@for program in $(C)/examples/example-c $(C)/examples/example-cpp; do \
	  if ldd $$program | grep -i swift; then echo "weir: $$program links Swift" >&2; exit 1; fi; \
	  log=$$(mktemp -d) || exit 1; $$program "$$log/log"; status=$$?; rm -rf "$$log"; \
	  [ $$status = 0 ] || exit 1; echo "ok: $$program, without Swift"; done
	@rm -rf $(C)/examples/other && mkdir -p $(C)/examples/other && cp include/*.h $(C)/examples/other
	@sed -i 's/_abi[0-9]*"/_abi0"/' $(C)/examples/other/weir_capture.h
	@if $(CC) -std=c11 -O2 -I$(C)/examples/other Tests/C/example.c $(C)/libweir.a $(C_LIBS) -pthread \
	    -o $(C)/examples/other/example-c 2>$(C)/examples/other/errors; then \
	  echo 'weir: a program built with the header of another version links' >&2; exit 1; fi
	@grep -q weir_find_place_abi0 $(C)/examples/other/errors || \
	  { cat $(C)/examples/other/errors >&2; exit 1; }
	@echo 'ok: a program built with the header of another version does not link'

test-c-core: $(C_TEST_RUNS)

# The names that a program with Weir in it shares with Weir: of the library, with and without the fault points.
.PHONY: test-symbols test-swift-symbols

test-symbols: $(C)/libweir.a $(C)/checked/libweir.a $(C)/replay/seam/libweir.a
	Tests/C/symbols.sh $^

# The core's folders in their order: see CoreLayers.md, whose table this reads.
.PHONY: test-layers

test-layers: need-python $(C)/libweir.a
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

$(C)/checked/libweir.a: $(CHECKED_OBJECTS)
	@rm -f $@
	ar rcs $@ $(CHECKED_OBJECTS)

$(C)/checked/%_test: Tests/C/%_test.c $(C)/checked/libweir.a
	$(CC) $(CHECKED_FLAGS) $< $(C)/checked/libweir.a $(C_LIBS) -o $@

$(C)/plain/%_test: Tests/C/%_test.c $(C)/libweir.a
	$(CC) $(C_FLAGS) $(CFLAGS) $< $(C)/libweir.a $(C_LIBS) -o $@

$(C)/plain/unload_test: $(C)/plain/unloaded.so

$(C)/plain/unloaded.so: Tests/C/unloaded.c $(C)/libweir.a
	$(CC) $(C_FLAGS) $(CFLAGS) -shared $< $(C)/libweir.a $(C_LIBS) -o $@

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
