# musl.mk: the C core with musl in place of glibc.
#
#   make test-musl        every C test of Tests/C that musl can run, and those of Tests/Musl; without sanitizers
#   make test-musl-short  of these: kills, faults, forks, threads, the empty root, the plug-in, the stacks
#
# Both install musl-tools, and fetch the sources of lz4, which Debian has built for glibc alone. The tests are static
# programs. Left out:
#
#   unload_test   musl keeps a plug-in that was unloaded (dlclose); plugin_test has what holds of a plug-in there
#
# Everything else of `make test-c` is not about a C library, or needs a sanitizer, which gcc has for glibc alone.

MUSL = $(C)/musl
MUSL_CC = musl-gcc
MUSL_FLAGS = $(C_FLAGS) -O2 -g -DWEIR_FAULT_INJECTION -isystem $(MUSL)/lz4/lib -idirafter $(MUSL)/kernel
MUSL_OBJECTS = $(C_SOURCES:Sources/CWeir/%.c=$(MUSL)/%.o)
MUSL_LZ4 = $(MUSL)/lz4/liblz4.a
MUSL_OWN_TESTS = $(patsubst Tests/Musl/%.c,%,$(wildcard Tests/Musl/*_test.c))
MUSL_TESTS = $(filter-out unload_test,$(C_TESTS)) $(MUSL_OWN_TESTS)
# The longest first.
MUSL_FIRST = signal_test reader_damage_test
MUSL_RUNS = $(patsubst %,$(MUSL)/%.run,$(MUSL_FIRST) $(filter-out $(MUSL_FIRST),$(MUSL_TESTS)))
MUSL_SHORT_TESTS = crash_test fault_test capture_test concurrency_test durable_test fork_test guard_test host_test \
                   threadless_test wall_step_test $(MUSL_OWN_TESTS)

.PHONY: need-musl test-musl test-musl-short

need-musl:
	@command -v $(MUSL_CC) >/dev/null 2>&1 || $(call install,musl-tools)

test-musl: need-c need-musl need-lz4-tool need-python
	@$(MAKE) --no-print-directory $(MUSL_LZ4)
	@$(MAKE) --no-print-directory -j $(JOBS) $(MUSL_RUNS:.run=)
	@$(MAKE) --no-print-directory -j $(JOBS) --keep-going --output-sync=target $(MUSL_RUNS)
	@echo 'not run with musl: unload_test, for musl unloads nothing'

test-musl-short: need-c need-musl
	@$(MAKE) --no-print-directory $(MUSL_LZ4)
	@$(MAKE) --no-print-directory -j $(JOBS) $(MUSL_SHORT_TESTS:%=$(MUSL)/%)
	@$(MAKE) --no-print-directory -j $(JOBS) --keep-going --output-sync=target $(MUSL_SHORT_TESTS:%=$(MUSL)/%.run)

# ---- liblz4 ----------------------------------------------------------------------------------------------------------

# From Debian's source package, in lists of its own, so that nothing of the machine changes.
MUSL_APT = $(abspath $(MUSL)/apt)
MUSL_APT_GET = apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$(MUSL_APT)/sources \
               -o Dir::State::Lists=$(MUSL_APT)/lists -o Dir::Cache=$(MUSL_APT)/cache -o APT::Sandbox::User=root

$(MUSL)/lz4/lib/lz4.h:
	@rm -rf $(MUSL_APT)/sources
	@mkdir -p $(MUSL_APT)/lists/partial $(MUSL_APT)/cache $(MUSL_APT)/sources $(MUSL)/lz4
	@command -v dpkg-source >/dev/null 2>&1 || $(call install,dpkg-dev)
	@echo 'weir: fetching the sources of lz4'
	@cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | sed -n 's/^deb /deb-src /p' \
	  >$(MUSL_APT)/sources/lz4.list
	@for file in /etc/apt/sources.list.d/*.sources; do [ ! -e $$file ] || \
	  sed 's/^Types: deb$$/Types: deb-src/' $$file >$(MUSL_APT)/sources/$$(basename $$file); done
	@cd $(MUSL_APT) && rm -rf lz4-* lz4_* && $(MUSL_APT_GET) update && $(MUSL_APT_GET) source lz4 >/dev/null
	@cp -R $(MUSL_APT)/lz4-*/lib $(MUSL)/lz4
	@touch $@

$(MUSL_LZ4): $(MUSL)/lz4/lib/lz4.h
	@for file in lz4 lz4hc lz4frame xxhash; do \
	  $(MUSL_CC) -O3 -fPIC -c $(MUSL)/lz4/lib/$$file.c -o $(MUSL)/lz4/$$file.o || exit 1; done
	@rm -f $@
	ar rcs $@ $(MUSL)/lz4/*.o

# The kernel's headers, which musl-tools leaves out: without glibc's beside them.
$(MUSL)/kernel:
	@mkdir -p $@.new
	@ln -sfn /usr/include/linux $@.new/linux
	@ln -sfn /usr/include/asm-generic $@.new/asm-generic
	@ln -sfn /usr/include/$$($(CC) -print-multiarch)/asm $@.new/asm
	@mv $@.new $@

# ---- Programs --------------------------------------------------------------------------------------------------------

$(MUSL)/%.o: Sources/CWeir/%.c | $(MUSL_LZ4) $(MUSL)/kernel
	@mkdir -p $(@D)
	$(MUSL_CC) $(MUSL_FLAGS) -c $< -o $@

$(MUSL)/libweir.a: $(MUSL_OBJECTS)
	@rm -f $@
	ar rcs $@ $(MUSL_OBJECTS)

$(MUSL)/%_test: Tests/C/%_test.c $(MUSL)/libweir.a
	$(MUSL_CC) $(MUSL_FLAGS) -static $< $(MUSL)/libweir.a $(MUSL_LZ4) -o $@

$(MUSL)/%_test: Tests/Musl/%_test.c $(MUSL)/libweir.a
	$(MUSL_CC) $(MUSL_FLAGS) -ITests/C -static $< $(MUSL)/libweir.a $(MUSL_LZ4) -o $@

# The one that loads a plug-in is no static program: that could load none.
$(MUSL)/plugin_test: Tests/Musl/plugin_test.c $(MUSL)/plugin.so
	$(MUSL_CC) $(MUSL_FLAGS) -ITests/C $< $(MUSL)/libweir.a $(MUSL_LZ4) -o $@

$(MUSL)/plugin.so: Tests/C/unloaded.c $(MUSL)/libweir.a
	$(MUSL_CC) $(MUSL_FLAGS) -shared $< $(MUSL)/libweir.a $(MUSL_LZ4) -o $@

$(MUSL)/golden_test.run: | need-python need-lz4-tool

.PHONY: $(MUSL_TESTS:%=$(MUSL)/%.run)
$(MUSL_TESTS:%=$(MUSL)/%.run): %.run: %
	$(if $(filter $(DISK_TESTS:%=%.run),$(@F)),,$(IN_MEMORY)) $(LIMITED) $<
