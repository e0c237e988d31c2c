# models.mk: models of the lanes in every interleaving, and their broken twins: Tests/Models/README.md.
#
#   make models             those that make test runs
#   make models-long        the same, with the models that take longer

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
