# swift.mk: the checks of the Swift packages.
#
#   make test-swift-again   the Swift tests TIMES ($(TIMES)) times beside two endless loops (FILTER=)
#   make test-packages      the tests of the package, without those that run the tool
#   make test-end-to-end    the tests that run the tool and kill it
#   make test-quickstart    the quick start of the README, as printed, in a package of its own
#   make test-consumer      what a package that depends on Weir fetches: without traits swift-log alone
#   make test-second-reader real requests in batch segments: lz4 -t, and weir cat beside a reader in Python
#   make test-modules       the page about the modules against Package.swift
#   make delivery-crash     a million events delivered, 50 kills on the way; kills at each call of delivery

# After the build two at a time, each with its output in one piece: tests wait for processes much of the time, and
# builds come to stretches that one processor does alone.
.PHONY: test-swift-parts test-packages test-end-to-end test-release test-swift-again test-quickstart

test-swift: need-swift need-lz4 need-lz4-tool need-zlib need-ncurses need-brokers need-nats-server need-c need-strace \
            need-python need-browser
	$(TEST_BUILD) --build-tests
	@$(MAKE) --no-print-directory test-swift-symbols
	@$(MAKE) --no-print-directory -j 3 --output-sync=target test-swift-parts

# The longest first.
test-swift-parts: test-end-to-end test-quickstart test-release test-packages test-consumer test-second-reader \
                  test-docs test-modules test-monitor test-fleet-guide test-install-tool lint

test-packages:
	$(SWIFT_TEST) --skip EndToEndTests
	SWIFT_BACKTRACE=enable=no $(TEST_BUNDLE) WeirTestingTests.XCTestTests

test-end-to-end:
	$(SWIFT_TEST) --filter EndToEndTests

# One after the other, for they build into the same folders.
test-release:
	@$(MAKE) --no-print-directory counts
	@$(MAKE) --no-print-directory hook-stress-short

# The tests of the Swift packages TIMES times beside two endless loops: chance is to have no say in them. FILTER names
# some of them, as swift test does.
TIMES = 20
FILTER =
# Not by the name that makes make run the line even where it is only to print it.
SWIFT_AGAIN = $(if $(FILTER),env $(SWIFT_TEST) --filter '$(FILTER)',$(MAKE) --no-print-directory test-packages \
              test-end-to-end)

test-swift-again: need-swift need-lz4 need-lz4-tool need-zlib need-ncurses need-brokers need-strace
	$(TEST_BUILD) --build-tests
	LOG=$(BUILD)/again.log Tests/again.sh $(TIMES) $(SWIFT_AGAIN)

# Real requests in batch segments, to the tool and to the reader in Python. With the tool that the tests were built with.
.PHONY: test-second-reader

test-second-reader: need-python need-lz4-tool
	@[ -x $(BUILD)/debug/weir ] || $(TEST_BUILD) --product weir
	@rm -rf $(BUILD)/second-reader
	timeout -s KILL 1200 python3 -B Tests/Golden/compare.py $(BUILD)/debug/weir Sources/WeirTool/Sample/apache_access.log \
	  $(BUILD)/second-reader
	@rm -rf $(BUILD)/second-reader

# The figure and the table of Modules.md against the manifest. In a scratch folder of its own: it waits for no build.
.PHONY: test-modules

test-modules: need-swift need-python
	@mkdir -p $(BUILD)
	$(SWIFT) package --scratch-path $(BUILD)/manifest dump-package >$(BUILD)/manifest.json
	python3 -B Tests/Surface/modules.py Sources/Weir/Weir.docc/Maintaining/Modules.md <$(BUILD)/manifest.json

# What packages that depend on this one fetch.
.PHONY: test-consumer

test-consumer: need-swift need-lz4
	SWIFT='$(SWIFT)' JOBS=$(JOBS) Tests/Consumer/check.sh

# The README's quick start as printed, with and without the macro, in a package that depends on this one. Builds
# swift-syntax the first time.
test-quickstart: need-swift need-python
	python3 Tests/Consumer/quickstart.py . $(BUILD)/quickstart $(SWIFT) $(JOBS)

# Real requests recorded and delivered over HTTP to a collector that fails at random, everybody killed on the way, and
# the same beside a provider that is dead. With the release tool: a million events take a debug build too long.
.PHONY: delivery-crash

delivery-crash: need-swift need-lz4 need-lz4-tool need-zlib need-ncurses need-brokers
	$(SWIFT_BUILD) -c release $(BUILD_TRAITS) --product weir
	$(TEST_BUILD) --build-tests
	WEIR_LONG_DELIVERY=1 WEIR_TOOL=$(abspath $(BUILD))/release/weir \
	  $(SWIFT_TEST) --filter EndToEndTests.EndToEnd.DeliveryKills
	WEIR_LONG=1 $(SWIFT_TEST) --filter 'DeliveryCrashTests|DeliveryFateTests'
