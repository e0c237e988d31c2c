# browser.mk: the monitor in a real browser, Chromium without a window.
#
#   make test-browser       events, filters, details, exports; a million events behind; kills; hostile values (TEST=)
#   make screenshots        the pictures of the monitor in the documentation

.PHONY: test-browser screenshots need-browser

# Python of the system, which Debian's selenium belongs to.
PYTHON_OF_SYSTEM = /usr/bin/python3
TEST =

need-browser:
	@command -v chromium >/dev/null 2>&1 && command -v chromedriver >/dev/null 2>&1 && \
	  $(PYTHON_OF_SYSTEM) -c 'import selenium' 2>/dev/null || \
	  $(call install,chromium chromium-driver python3-selenium)

test-browser: need-swift need-lz4 need-zlib need-browser
	@[ -x $(BUILD)/debug/weir ] || $(TEST_BUILD) --product weir
	timeout -s KILL 1200 $(PYTHON_OF_SYSTEM) -B Tests/Browser/monitor_test.py $(BUILD)/debug/weir $(TEST)

screenshots: need-swift need-lz4 need-zlib need-browser
	@[ -x $(BUILD)/debug/weir ] || $(TEST_BUILD) --product weir
	$(PYTHON_OF_SYSTEM) -B Tests/Browser/screenshots.py $(BUILD)/debug/weir Sources/Weir/Weir.docc/Resources
