# monitor.mk: the monitor, as a person sees it: in Chromium without a window, and in tmux.
#
#   make test-monitor       the page and the terminal: events, filters, details, exports; a million events; kills;
#                           hostile values (TEST= names tests of the page)
#   make screenshots        the pictures of the monitor in the documentation

.PHONY: test-monitor screenshots need-browser

# Python of the system, which Debian's selenium belongs to.
PYTHON_OF_SYSTEM = /usr/bin/python3
TEST =

need-browser:
	@command -v chromium >/dev/null 2>&1 && command -v chromedriver >/dev/null 2>&1 && \
	  command -v tmux >/dev/null 2>&1 && $(PYTHON_OF_SYSTEM) -c 'import selenium' 2>/dev/null || \
	  $(call install,chromium chromium-driver python3-selenium tmux)

test-monitor: need-swift need-lz4 need-zlib need-ncurses need-brokers need-browser
	@[ -x $(BUILD)/debug/weir ] || $(TEST_BUILD) --product weir
	timeout -s KILL 1200 $(PYTHON_OF_SYSTEM) -B Tests/Monitor/terminal_test.py $(BUILD)/debug/weir
	timeout -s KILL 1200 $(PYTHON_OF_SYSTEM) -B Tests/Monitor/page_test.py $(BUILD)/debug/weir $(TEST)

screenshots: need-swift need-lz4 need-zlib need-ncurses need-brokers need-browser
	@[ -x $(BUILD)/debug/weir ] || $(TEST_BUILD) --product weir
	$(PYTHON_OF_SYSTEM) -B Tests/Monitor/screenshots.py $(BUILD)/debug/weir Sources/Weir/Weir.docc/Resources
