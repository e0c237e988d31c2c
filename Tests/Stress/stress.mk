# stress.mk: threads that do whatever they may.
#
#   make stress             for STRESS_SECONDS, under ThreadSanitizer (STRESS_FLAGS, for one: --seed N)
#   make soak               at full speed: STRESS_EVENTS captures on every policy for a full lane
#   make hook-stress        hooks attached and detached while HOOK_FIRINGS calls fire them, under ThreadSanitizer
#   make hook-twins         faults put into hooks, each of which has to be found
#   make test-thread-sanitizer  what an adopter does with Weir, under ThreadSanitizer: no report

.PHONY: stress stress-short soak need-gcc

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

$(C)/plain/stress/stress: $(SOAK_OBJECTS) $(C)/libweir.a
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
