# surface.mk: the public declarations, and the pages about them.
#
#   make docs        builds the modules, then $(DOCS)/Weir.doccarchive: pages and declarations of every public module
#   make test-docs   the same of modules that are built already; a link that leads nowhere is an error
#   make surface     what each module declares publicly, as a table

DOCS = $(BUILD)/docs
# The modules that have landing pages, which test-modules sees to.
DOCUMENTED = Weir $(patsubst Sources/Weir/Weir.docc/Modules/%.md,%,$(sort $(wildcard Sources/Weir/Weir.docc/Modules/*)))

# Beside the compiler, where toolchains have it, or on the PATH.
SWIFT_PATH = $(shell command -v $(SWIFT))
DOCC = $(firstword $(wildcard $(dir $(SWIFT_PATH))docc $(dir $(realpath $(SWIFT_PATH)))docc) docc)

# The C modules of other packages, which SwiftPM or the package wrote the maps of.
DOCS_C_MODULES = $(wildcard $(BUILD)/debug/*.build/module.modulemap \
                 $(BUILD)/checkouts/*/Sources/*/include/module.modulemap)
DOCS_TARGET = $(shell $(SWIFT) -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p')

.PHONY: docs docs-modules docs-symbols test-docs surface

docs: docs-modules
	@$(MAKE) --no-print-directory test-docs
	@echo 'docs: python3 -m http.server -d $(DOCS)/Weir.doccarchive, and http://localhost:8000/documentation/weir/'

docs-modules: need-swift need-lz4 need-zlib need-ncurses need-brokers
	$(TEST_BUILD)

docs-symbols:
	@rm -rf $(DOCS)/symbols && mkdir -p $(DOCS)/symbols
	@for module in $(DOCUMENTED); do \
	  $(SWIFT) symbolgraph-extract -module-name $$module -target $(DOCS_TARGET) -minimum-access-level public \
	    -skip-synthesized-members -I $(BUILD)/debug/Modules -I include \
	    $(addprefix -I Sources/,CLZ4 CZlib CNcurses CNATS CKafka) \
	    $(addprefix -Xcc -fmodule-map-file=,$(DOCS_C_MODULES)) -module-cache-path $(DOCS)/cache \
	    -output-dir $(DOCS)/symbols || exit 1; \
	done

test-docs: docs-symbols
	$(DOCC) convert Sources/Weir/Weir.docc --additional-symbol-graph-dir $(DOCS)/symbols \
	  --output-path $(DOCS)/Weir.doccarchive --warnings-as-errors
	@echo 'ok: every link of the pages and of the public declarations leads somewhere'

surface: docs-modules need-python
	@$(MAKE) --no-print-directory docs-symbols
	@python3 -B Tests/Surface/surface.py $(DOCS)/symbols $(DOCUMENTED)
