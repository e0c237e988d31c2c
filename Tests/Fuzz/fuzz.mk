# fuzz.mk: hostile files: Tests/Fuzz/README.md.
#
#   make fuzz               fuzzes every reader of files for SECONDS each (60), under AddressSanitizer
#   make fuzz-mutated       ROUNDS (100000) mutated logs through every reader and recovery
#   make fuzz-corpus        takes what is worth keeping of what was found into the tree

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
$(FUZZ_REPLAYS): $(FUZZ)/checked/replay_inputs.o $(FUZZ_SHARED:%=$(FUZZ)/checked/%.o) $(C)/checked/libweir.a
	$(CC) $(CHECKED_FLAGS) $(filter %.o,$^) $(filter %.a,$^) $(C_LIBS) -o $@

$(FUZZ)/mutated_files $(FUZZ)/input_cases $(FUZZ)/make_corpus: $(FUZZ)/%: $(FUZZ)/checked/%.o $(FUZZ)/checked/seeds.o \
                                           $(FUZZ_SHARED:%=$(FUZZ)/checked/%.o) $(C)/checked/libweir.a
	$(CC) $(CHECKED_FLAGS) $^ $(C_LIBS) -o $@
