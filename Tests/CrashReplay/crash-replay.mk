# crash-replay.mk: kills, sweeps, full disks and power cuts: Tests/CrashReplay/README.md.
#
#   make crash-replay       all of it at length (ROUNDS=, IMAGES=, SECONDS=, SEED=)
#   make crash-replay-short a part of it, as make test runs it
#   make crash-replay-twins faults put into the library, each of which has to be found (TWIN=)
#   make delivery-twins     faults put into the order in which delivery makes things durable: each has to be found
#   make reconcile-twins    the same of what matches events with a control
#   make power-cut          ROUNDS (300) power cuts of ext4 and xfs, as root; installs what makes and breaks disks
#   make disks-long         a full disk at every size, and every system call failing

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

# The same of delivery, and of reconciliation, which are in Swift. Builds the package for each.
.PHONY: delivery-twins reconcile-twins

reconcile-twins: need-swift need-lz4
	Tests/CrashReplay/Twins/try-swift.sh Reconciliation WeirReconcileTests $(BUILD) $(SWIFT) $(JOBS) $(TWIN)

delivery-twins: need-swift need-lz4
	Tests/CrashReplay/Twins/try-swift.sh Delivery WeirDeliveryTests $(BUILD) $(SWIFT) $(JOBS) $(TWIN)

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

$(REPLAY)/seam/libweir.a: $(REPLAY_SEAM_OBJECTS)
	@rm -f $@
	ar rcs $@ $(REPLAY_SEAM_OBJECTS)

$(REPLAY)/%.o: Tests/CrashReplay/%.c
	@mkdir -p $(@D)
	$(CC) $(REPLAY_FLAGS) -c $< -o $@

$(REPLAY)/libreplay.a: $(REPLAY_SHARED:%=$(REPLAY)/%.o)
	@rm -f $@
	ar rcs $@ $^

$(REPLAY_PLAIN:%=$(REPLAY)/%): %: %.o $(REPLAY)/libreplay.a $(C)/libweir.a
	$(CC) $(REPLAY_FLAGS) $^ $(C_LIBS) -o $@

$(filter-out $(REPLAY_PLAIN:%=$(REPLAY)/%),$(REPLAY_PROGRAMS:%=$(REPLAY)/%)): %: %.o $(REPLAY)/libreplay.a \
                                                                             $(REPLAY)/seam/libweir.a
	$(CC) $(REPLAY_FLAGS) $^ $(C_LIBS) -o $@
