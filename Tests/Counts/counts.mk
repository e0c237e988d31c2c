# counts.mk: what a capture does, counted.
#
#   make counts             a capture allocates nothing, takes no lock and makes no system call
#   make counts-c           the same of the C library alone

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

$(COUNTS)/c_counts: Tests/Counts/C/c_counts.c $(COUNTING)/counting.c $(COUNTING)/include/counting.h $(C)/libweir.a \
                    $(C_HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(C_WARNINGS) $(CFLAGS) -Iinclude -I$(COUNTING)/include $(filter %.c %.a,$^) $(C_LIBS) -pthread -o $@
