# packaging-tests.mk: whether what others install and build upon is whole.
#
#   make test-install      make install, and programs that are built with what it installs
#   make test-install-tool make install-tool
#   make test-abi          the library's interface beside Packaging/libweir.abi
#   make test-deb          the Debian packages libweir1 and libweir-dev, and what lintian says of them
#   make test-ways         every way in of the page Installing, each on a clean machine (root, a network; WAYS=)

.PHONY: test-packaging test-install test-install-tool test-abi test-deb test-ways need-cmake need-groff need-lintian \
        need-debootstrap

test-packaging: test-install test-abi test-deb

need-cmake:
	@command -v cmake >/dev/null 2>&1 && command -v pkg-config >/dev/null 2>&1 || $(call install,cmake pkg-config)

need-groff:
	@command -v groff >/dev/null 2>&1 || $(call install,groff)

need-lintian:
	@command -v lintian >/dev/null 2>&1 || $(call install,lintian)

need-debootstrap:
	@command -v debootstrap >/dev/null 2>&1 || $(call install,debootstrap)

test-install: need-c need-gcc need-cmake need-groff need-python libweir
	Tests/Packaging/install_test.sh '$(MAKE)'

# With the tool that the tests were built with.
test-install-tool: need-groff need-python
	@[ -x $(BUILD)/debug/weir ] || $(TEST_BUILD) --product weir
	Tests/Packaging/install_tool_test.sh '$(MAKE)' $(abspath $(BUILD)/debug/weir)

# Every difference is shown. What is new has a version of symbols of its own in weir.map (WEIR_1.1, after WEIR_1.0), and
# a line in libweir1.symbols: programs that call it do not start with an older library. Then make abi puts it into the
# file. Anything else takes another soname.
test-abi: need-abigail $(C)/libweir.abi
	@[ "$$(uname -m)" = x86_64 ] || { echo 'skipped: test-abi, for Packaging/libweir.abi is of x86-64'; exit 0; }; \
	abidiff Packaging/libweir.abi $(C)/libweir.abi || { \
	  echo 'weir: the interface of libweir.so has changed. Additions: make abi. All else breaks programs that are built' \
	    'already: it takes another first number in WEIR_VERSION' >&2; exit 1; }; \
	echo 'ok: the interface of libweir.so is that of Packaging/libweir.abi'

test-deb: need-lintian
	@mkdir -p $(C)
	$(MAKE) --no-print-directory deb TOOL=no DEB=$(C)/deb >$(C)/deb.log 2>&1 || { tail -50 $(C)/deb.log; exit 1; }
	Tests/Packaging/deb_test.sh $(C)/deb

# WAYS: --write, which puts the table into the page, or headings, such as WAYS="'The tool'".
WAYS =

test-ways: need-debootstrap need-lintian need-python need-swift deb
	Tests/Packaging/deb_test.sh $(DEB)
	python3 -B Tests/Packaging/ways_test.py --debs $(DEB) --folder $(BUILD) $(WAYS)
