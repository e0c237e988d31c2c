# amalgamation-tests.mk: whether the C core as one file is the C core.
#
#   make test-amalgamation       weir.c and weir_reader.c as C11 and C++17, with gcc and clang: no warning, the same
#                                names, programs, C tests, the golden logs, two copies in one process
#   make test-amalgamation-all   the same with more options of the compilers, and with every C test that has no other
#                                header than the public ones, AddressSanitizer and UndefinedBehaviorSanitizer included
#
#   make amalgamation-bench      what a capture costs: the static library, weir.c, the shared library (COST_ROUNDS=)
#
# A compiler that is not there is left out, and said to be.

ONE = $(BUILD)/amalgamation/tests
ONE_WARNINGS = -Wall -Wextra -Wconversion -Werror
# Of each: its language, its standard, and how far what follows is optimised. All flags with all of them take minutes.
ONE_O_gcc = -O2
ONE_O_clang = -O0
ONE_O_g++ = -O0
ONE_O_clang++ = -O1
ONE_AS_gcc = -x c -std=c11
ONE_AS_clang = -x c -std=c11
ONE_AS_g++ = -x c++ -std=c++17
ONE_AS_clang++ = -x c++ -std=c++17
ONE_COMPILERS := $(foreach compiler,gcc clang g++ clang++,$(if $(shell command -v $(compiler)),$(compiler)))
ONE_CC = $(firstword $(filter gcc clang,$(ONE_COMPILERS)))
ONE_CXX = $(firstword $(filter g++ clang++,$(ONE_COMPILERS)))
ONE_LINKED = $(C_LIBS) -pthread

.PHONY: test-amalgamation test-amalgamation-here test-amalgamation-all test-amalgamation-flags test-amalgamation-names \
        test-amalgamation-examples test-amalgamation-versions test-amalgamation-reader test-amalgamation-copies

# Made anew, because need-c may install a compiler.
test-amalgamation: need-c need-python
	@$(MAKE) --no-print-directory test-amalgamation-here

test-amalgamation-here:
	@$(MAKE) --no-print-directory $(ONE_COMPILERS:%=$(ONE)/%/weir.o) $(ONE_COMPILERS:%=$(ONE)/%/weir_reader.o)
	@for compiler in gcc clang g++ clang++; do case ' $(ONE_COMPILERS) ' in *" $$compiler "*) ;; \
	  *) echo "skipped: weir.c with $$compiler, for want of $$compiler";; esac; done
	@$(MAKE) --no-print-directory test-amalgamation-flags FLAG_SETS=-O0,-DWEIR_FAULT_INJECTION
	@$(MAKE) --no-print-directory test-amalgamation-names test-amalgamation-examples test-amalgamation-versions \
	  test-amalgamation-reader test-amalgamation-copies $(ONE_SHORT_TESTS:%=$(ONE)/%.run)

# One object for each compiler, for all that follows.
define ONE_OBJECTS
$(ONE)/$(1)/%.o: $(BUILD)/amalgamation/%.c $(BUILD)/amalgamation/weir.h
	@mkdir -p $$(@D)
	$(1) $(ONE_AS_$(1)) $(ONE_WARNINGS) $(ONE_O_$(1)) -c $$< -o $$@

# What a plug-in has.
$(ONE)/$(1)/hidden/weir.o: $(BUILD)/amalgamation/weir.c $(BUILD)/amalgamation/weir.h
	@mkdir -p $$(@D)
	$(1) $(ONE_AS_$(1)) $(ONE_WARNINGS) -O0 -fPIC -fvisibility=hidden -c $$< -o $$@
endef
$(foreach compiler,$(ONE_COMPILERS),$(eval $(call ONE_OBJECTS,$(compiler))))

# FLAG_SETS, with commas for spaces: weir.c and weir_reader.c compile with each of them and no warning.
FLAG_SETS = -O0 -O1 -O2 -O3 -Os -O2,-fPIC -O2,-fPIC,-fvisibility=hidden -O2,-DWEIR_FAULT_INJECTION -O2,-DNDEBUG \
            -O1,-fsanitize=address,undefined -O2,-fno-strict-aliasing -O2,-march=native

test-amalgamation-flags: $(BUILD)/amalgamation/weir.c
	@mkdir -p $(ONE)
	@set -e; for flags in $(FLAG_SETS); do \
	  flags=$$(echo "$$flags" | sed 's/,-/ -/g'); \
	  for file in weir weir_reader; do $(foreach compiler,$(ONE_COMPILERS),\
	    $(compiler) $(ONE_AS_$(compiler)) $(ONE_WARNINGS) $$flags -c $(BUILD)/amalgamation/$$file.c -o $(ONE)/flags.o;) \
	  done; \
	  echo "ok: no warning with $$flags: $(ONE_COMPILERS)"; \
	done

# The names that a program shares with them.
test-amalgamation-names: $(C)/libweir.a $(ONE_COMPILERS:%=$(ONE)/%/weir.o) $(ONE_COMPILERS:%=$(ONE)/%/weir_reader.o)
	Tests/Amalgamation/names.sh $(BUILD)/amalgamation $^

# What a user does, for each compiler and each language of the program.
test-amalgamation-examples: $(ONE_COMPILERS:%=$(ONE)/%/weir.o)
	@set -e; mkdir -p $(ONE)/examples; \
	for object in $^; do \
	  of=$$(basename $$(dirname $$object)); \
	  $(ONE_CC) -std=c11 -pedantic-errors $(ONE_WARNINGS) -O2 -I$(BUILD)/amalgamation Tests/C/example.c $$object \
	    $(ONE_LINKED) -o $(ONE)/examples/c-$$of; \
	  $(ONE_CXX) -std=c++17 -pedantic-errors $(ONE_WARNINGS) -O2 -I$(BUILD)/amalgamation Tests/C/example.cpp $$object \
	    $(ONE_LINKED) -o $(ONE)/examples/cpp-$$of; \
	  for program in c-$$of cpp-$$of; do \
	    log=$$(mktemp -d); $(LIMITED) $(ONE)/examples/$$program $$log/log || { rm -rf $$log; exit 1; }; rm -rf $$log; \
	    echo "ok: $$program"; done; \
	done

# A program that was compiled with the header of another version does not link.
test-amalgamation-versions: $(ONE)/$(ONE_CC)/weir.o
	@mkdir -p $(ONE)/other
	@sed 's/_abi[0-9]*"/_abi0"/' $(BUILD)/amalgamation/weir.h >$(ONE)/other/weir.h
	@if $(ONE_CC) -std=c11 -O2 -I$(ONE)/other Tests/C/example.c $< $(ONE_LINKED) -o $(ONE)/other/example \
	    2>$(ONE)/other/errors; then \
	  echo 'weir: a program with the header of another version links with weir.c' >&2; exit 1; fi
	@grep -q weir_find_place_abi0 $(ONE)/other/errors || { cat $(ONE)/other/errors >&2; exit 1; }
	@echo 'ok: a program with the header of another version does not link with weir.c'

# The reader alone says what the library says, of the golden logs and of no log; and it follows a live log.
GOLDEN_LOGS = $(sort $(wildcard Tests/Golden/v*/log))

$(ONE)/read_all-library: Tests/Amalgamation/read_all.c $(wildcard Tests/Golden/*.h) $(C)/libweir.a
	@mkdir -p $(@D)
	$(ONE_CC) -std=gnu11 $(C_WARNINGS) -O1 -Iinclude -ITests/Golden $< $(C)/libweir.a $(ONE_LINKED) -o $@

$(ONE)/read_all-%: Tests/Amalgamation/read_all.c $(wildcard Tests/Golden/*.h) $(ONE)/%/weir_reader.o
	$(ONE_CC) -std=gnu11 $(C_WARNINGS) -O1 -I$(BUILD)/amalgamation -include weir_reader.h -ITests/Golden $< \
	  $(ONE)/$*/weir_reader.o $(C_LIBS) -o $@

$(ONE)/followed: Tests/Amalgamation/followed.c $(ONE)/$(ONE_CC)/weir.o
	$(ONE_CC) -std=c11 $(ONE_WARNINGS) -O1 -I$(BUILD)/amalgamation $^ $(ONE_LINKED) -o $@

$(ONE)/follow: Tests/Amalgamation/follow.c $(ONE)/$(ONE_CC)/weir_reader.o
	$(ONE_CC) -std=gnu11 $(ONE_WARNINGS) -O1 -I$(BUILD)/amalgamation $^ $(C_LIBS) -o $@

test-amalgamation-reader: $(ONE)/read_all-library $(ONE_COMPILERS:%=$(ONE)/read_all-%) $(ONE)/follow $(ONE)/followed
	@set -e; logs=$$(mktemp -d); trap 'rm -rf "$$logs"' EXIT; \
	for log in $(GOLDEN_LOGS); do cp -R $$log $$logs/$$(basename $$(dirname $$log)); done; chmod -R go-w $$logs; \
	mkdir $$logs/empty; all="$$(echo $$logs/*) $$logs/none $$logs/$$(printf '%0300d' 0)"; \
	$(ONE)/read_all-library $$all >$(ONE)/expected; \
	[ $$(wc -l <$(ONE)/expected) -gt 100 ] || { echo 'weir: the library read too little' >&2; exit 1; }; \
	for compiler in $(ONE_COMPILERS); do \
	  $(ONE)/read_all-$$compiler $$all >$(ONE)/found; \
	  cmp $(ONE)/expected $(ONE)/found; \
	  echo "ok: the reader alone, by $$compiler, says what the library says: $$(wc -l <$(ONE)/found) lines"; \
	done; \
	$(LIMITED) $(ONE)/follow $(ONE)/followed $$logs/followed

# A program with one copy, compiled by the last compiler, and a plug-in with another, by the first.
ONE_PROGRAM = $(lastword $(ONE_COMPILERS))

$(ONE)/copy-hidden.so: Tests/Amalgamation/copy.c $(ONE)/$(ONE_CC)/hidden/weir.o
	$(ONE_CC) -std=c11 $(ONE_WARNINGS) -O1 -fPIC -fvisibility=hidden -shared -I$(BUILD)/amalgamation $^ $(ONE_LINKED) -o $@

$(ONE)/copy-visible.so: Tests/Amalgamation/copy.c $(BUILD)/amalgamation/weir.c
	$(ONE_CC) -std=c11 $(ONE_WARNINGS) -fPIC -shared -I$(BUILD)/amalgamation $^ $(ONE_LINKED) -o $@

$(ONE)/two_copies $(ONE)/two_copies-exported: Tests/Amalgamation/two_copies.c Tests/C/check.h \
                                              $(ONE)/$(ONE_PROGRAM)/weir.o
	$(ONE_CC) -std=gnu11 $(C_WARNINGS) -O1 -I$(BUILD)/amalgamation -ITests/C $< $(ONE)/$(ONE_PROGRAM)/weir.o \
	  $(ONE_LINKED) -ldl $(if $(findstring exported,$@),-rdynamic) -o $@

test-amalgamation-copies: $(ONE)/two_copies $(ONE)/two_copies-exported $(ONE)/copy-hidden.so $(ONE)/copy-visible.so
	$(LIMITED) $(ONE)/two_copies $(ONE)/copy-hidden.so apart
	$(LIMITED) $(ONE)/two_copies-exported $(ONE)/copy-hidden.so apart
	$(LIMITED) $(ONE)/two_copies $(ONE)/copy-visible.so apart
	$(LIMITED) $(ONE)/two_copies-exported $(ONE)/copy-visible.so shared

# The C tests that have no other header of the library than weir.h.
ONE_TESTS = concurrency_test copy_on_write_test crash_test host_names_test signal_test types_test unload_test \
            wall_step_test
ONE_SHORT_TESTS = host_names_test types_test unload_test wall_step_test

$(ONE)/%_test: Tests/C/%_test.c $(wildcard Tests/C/*.h) $(ONE)/$(ONE_CC)/weir.o
	$(ONE_CC) -std=gnu11 $(C_WARNINGS) -O1 -I$(BUILD)/amalgamation $< $(ONE)/$(ONE_CC)/weir.o $(ONE_LINKED) -ldl -o $@

$(ONE)/unload_test: $(ONE)/unloaded.so

$(ONE)/unloaded.so: Tests/C/unloaded.c $(ONE)/$(ONE_CC)/hidden/weir.o
	$(ONE_CC) -std=gnu11 $(C_WARNINGS) -O1 -fPIC -shared -I$(BUILD)/amalgamation $^ $(ONE_LINKED) -o $@

# As C++, with the sanitizers and the fault points.
ONE_CHECKED = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
              -DWEIR_FAULT_INJECTION

$(ONE)/checked/weir.o: $(BUILD)/amalgamation/weir.c
	@mkdir -p $(@D)
	$(ONE_CXX) $(ONE_AS_$(ONE_CXX)) $(ONE_WARNINGS) $(ONE_CHECKED) -c $< -o $@

$(ONE)/checked/%_test: Tests/C/%_test.c $(wildcard Tests/C/*.h) $(ONE)/checked/weir.o
	@echo '#include "weir.h"' >$(ONE)/checked/weir_failing.h
	$(ONE_CXX) -x c -std=gnu11 $(C_WARNINGS) $(ONE_CHECKED) -I$(BUILD)/amalgamation -I$(ONE)/checked $< \
	  -x none $(ONE)/checked/weir.o $(ONE_LINKED) -ldl -o $@

ONE_CHECKED_TESTS = $(filter-out $(PLAIN_TESTS),$(ONE_TESTS) failing_test)
ONE_TEST_RUNS = $(ONE_TESTS:%=$(ONE)/%.run) $(ONE_CHECKED_TESTS:%=$(ONE)/checked/%.run)

.PHONY: $(ONE_TEST_RUNS)
$(ONE_TEST_RUNS): %.run: %
	$(CHECKED_RUN) $(if $(filter $(DISK_TESTS:%=%.run),$(@F)),,$(IN_MEMORY)) $(LIMITED) $<

test-amalgamation-all: test-amalgamation
	@$(MAKE) --no-print-directory test-amalgamation-flags
	@$(MAKE) --no-print-directory --keep-going $(ONE_TEST_RUNS)

# Plug-ins, and one processor for the thread that captures.
COST_ROUNDS = 1999
COST_FLAGS = -std=gnu11 $(C_WARNINGS) $(CFLAGS) -fPIC -shared -fvisibility=hidden

.PHONY: amalgamation-bench

$(ONE)/cost-library.so: Tests/Amalgamation/cost_subject.c $(C)/libweir.a
	@mkdir -p $(@D)
	$(ONE_CC) $(COST_FLAGS) -Iinclude $^ $(ONE_LINKED) -Wl,-Bsymbolic -o $@

$(ONE)/cost-shared.so: Tests/Amalgamation/cost_subject.c $(C)/$(SONAME)
	@mkdir -p $(@D)
	$(ONE_CC) $(COST_FLAGS) -Iinclude $^ -Wl,-rpath,$(abspath $(C)) -o $@

$(ONE)/cost-amalgamation.so: Tests/Amalgamation/cost_subject.c $(BUILD)/amalgamation/weir.c
	@mkdir -p $(@D)
	$(ONE_CC) $(COST_FLAGS) -I$(BUILD)/amalgamation $^ $(ONE_LINKED) -o $@

$(ONE)/cost: Tests/Amalgamation/cost.c Tests/C/check.h
	@mkdir -p $(@D)
	$(ONE_CC) -std=gnu11 $(C_WARNINGS) $(CFLAGS) -Iinclude -ITests/C $< -ldl -o $@

amalgamation-bench: need-c need-python $(ONE)/cost $(ONE)/cost-library.so $(ONE)/cost-amalgamation.so \
                    $(ONE)/cost-shared.so
	$$(taskset -c 1 true 2>/dev/null && echo taskset -c 1) $(ONE)/cost $(COST_ROUNDS) libweir.a=$(ONE)/cost-library.so \
	  weir.c=$(ONE)/cost-amalgamation.so libweir.so=$(ONE)/cost-shared.so
