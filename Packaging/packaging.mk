# packaging.mk: the C library and the tool for others to use.
#
#   make install        the C library, its headers, weir.pc, a CMake package, manual pages; no Swift is needed
#   make install-tool   the tool, its manual pages, completions for shells, a unit for systemd
#   make uninstall      what both installed
#   make deb            Debian packages libweir1, libweir-dev and weir, in $(BUILD)/deb (TOOL=no: without weir)
#   make abi            the library's interface, as Packaging/libweir.abi has it, which `make test-abi` compares
#
# PREFIX (/usr/local), LIBDIR and the other folders below, and DESTDIR, under which all of it is put.

.PHONY: libweir install install-tool uninstall deb abi need-folders need-packaging need-abigail

PREFIX = /usr/local
BINDIR = $(PREFIX)/bin
LIBDIR = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include
MANDIR = $(PREFIX)/share/man
BASHDIR = $(PREFIX)/share/bash-completion/completions
ZSHDIR = $(PREFIX)/share/zsh/site-functions
FISHDIR = $(PREFIX)/share/fish/vendor_completions.d
UNITDIR = $(PREFIX)/lib/systemd/system
SHAREDIR = $(PREFIX)/share/weir
DOCDIR = $(PREFIX)/share/doc/weir
INSTALL = install

VERSION := $(shell sed -n 's/^.define WEIR_VERSION "\(.*\)"/\1/p' include/weir.h)
SOVERSION = $(firstword $(subst ., ,$(VERSION)))
SONAME = libweir.so.$(SOVERSION)

libweir: $(C)/libweir.a $(C)/$(SONAME)

# The version script leaves the names of the headers global, and no other.
$(C)/$(SONAME): $(C_OBJECTS) $(C)/compiler Packaging/weir.map
	@$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=Packaging/weir.map -Wl,-z,defs \
	  -Wl,-O1 $(C_OBJECTS) $(C_LIBS) -pthread -o $@

# Each is one absolute path, and nothing that a shell takes for more: uninstall removes folders.
FOLDERS = PREFIX BINDIR LIBDIR INCLUDEDIR MANDIR BASHDIR ZSHDIR FISHDIR UNITDIR SHAREDIR DOCDIR

need-folders:
	@$(foreach folder,$(FOLDERS),$(if $(filter-out 1,$(words x$($(folder))x))$(if $(filter /%,$($(folder))),,x),\
	  echo 'weir: $(folder) must be an absolute path without spaces (now "$($(folder))")' >&2; exit 1;)) \
	$(if $(filter-out 1,$(words x$(DESTDIR)x)),echo 'weir: DESTDIR must have no spaces' >&2; exit 1,:)
	@case '$(subst ','\'',$(foreach folder,$(FOLDERS) DESTDIR,$($(folder))))' in *[!A-Za-z0-9/._+~@%:=,\ -]*) \
	  echo 'weir: the names of folders may have letters, digits and / . _ + ~ @ % : = , - alone' >&2; exit 1;; esac

# $(call under_prefix,FOLDER): as weir.pc names the folder.
under_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
FILL_IN = sed -e 's|@prefix@|$(PREFIX)|' -e 's|@libdir@|$(call under_prefix,$(LIBDIR))|' \
  -e 's|@includedir@|$(call under_prefix,$(INCLUDEDIR))|' -e 's|@version@|$(VERSION)|' \
  -e 's|@soversion@|$(SOVERSION)|' \
  -e "s|@includedir_from_config@|$$from_config|" -e 's|@private@|.private|' -e 's|@bindir@|$(BINDIR)|'
# The folders may be links, as /lib often is.
FROM_CONFIG = import os, sys; print(os.path.relpath(*map(os.path.realpath, sys.argv[1:])))

$(C)/man3/weir.3: $(C_HEADERS) Packaging/manual.py
	@$(MAKE) --no-print-directory need-python
	@rm -rf $(@D)
	python3 -B Packaging/manual.py functions $(@D) $(C_HEADERS)

install: need-folders need-cc libweir $(C)/man3/weir.3
	$(INSTALL) -d $(addprefix $(DESTDIR),$(LIBDIR)/pkgconfig $(LIBDIR)/cmake/weir $(INCLUDEDIR) $(MANDIR)/man3)
	$(INSTALL) -m 644 $(C)/libweir.a $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 644 $(C)/$(SONAME) $(DESTDIR)$(LIBDIR)/libweir.so.$(VERSION)
	ln -sf libweir.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libweir.so
	$(INSTALL) -m 644 $(C_HEADERS) $(DESTDIR)$(INCLUDEDIR)
	$(FILL_IN) Packaging/weir.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/weir.pc
	set -e; from_config=$$(python3 -c '$(FROM_CONFIG)' $(INCLUDEDIR) $(LIBDIR)/cmake/weir); \
	for file in weir-config weir-config-version; do \
	  $(FILL_IN) Packaging/$$file.cmake.in >$(DESTDIR)$(LIBDIR)/cmake/weir/$$file.cmake; done
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/weir.pc $(DESTDIR)$(LIBDIR)/cmake/weir/*
	$(INSTALL) -m 644 $(C)/man3/* $(DESTDIR)$(MANDIR)/man3

# A tool that runs without the Swift toolchain, built in a folder of its own; or one that is built already.
INSTALLED_TOOL = $(BUILD)/tool/release/weir
SAMPLE = Sources/WeirTool/Sample/apache_access.log

# The licences of what the tool has within it: the packages that SwiftPM fetched, and Swift's libraries.
CHECKOUTS = $(abspath $(dir $(INSTALLED_TOOL))..)/checkouts
LICENCES = $(wildcard $(foreach name,LICENSE NOTICE,$(CHECKOUTS)/*/$(name)* $(CHECKOUTS)/*/*/*/$(name)*) \
  $(dir $(realpath $(shell command -v $(SWIFT) 2>/dev/null)))../share/swift/LICENSE.txt)

$(BUILD)/tool/release/weir: need-swift need-lz4 need-zlib need-ncurses need-brokers
	$(SWIFT) build -j $(JOBS) --scratch-path $(BUILD)/tool $(SWIFT_FLAGS) -c release --static-swift-stdlib \
	  -Xlinker -z -Xlinker now $(BUILD_TRAITS) --product weir

install-tool: need-folders $(INSTALLED_TOOL) need-python
	$(INSTALL) -d $(addprefix $(DESTDIR),$(BINDIR) $(MANDIR)/man1 $(BASHDIR) $(ZSHDIR) $(FISHDIR) $(UNITDIR) $(SHAREDIR) $(DOCDIR))
	$(INSTALL) -m 755 $(INSTALLED_TOOL) $(DESTDIR)$(BINDIR)/weir
	strip $(DESTDIR)$(BINDIR)/weir
	rm -rf $(BUILD)/man1 && python3 -B Packaging/manual.py commands $(BUILD)/man1 $(INSTALLED_TOOL)
	$(INSTALL) -m 644 $(BUILD)/man1/* $(DESTDIR)$(MANDIR)/man1
	set -e; for shell in bash:$(BASHDIR)/weir zsh:$(ZSHDIR)/_weir fish:$(FISHDIR)/weir.fish; do \
	  $(INSTALLED_TOOL) --generate-completion-script $${shell%%:*} >$(BUILD)/completions; \
	  sed '1{/^#!/d}' $(BUILD)/completions >$(DESTDIR)$${shell#*:}; \
	  chmod 644 $(DESTDIR)$${shell#*:}; done
	$(FILL_IN) Packaging/weir-deliver@.service.in >$(DESTDIR)$(UNITDIR)/weir-deliver@.service
	chmod 644 $(DESTDIR)$(UNITDIR)/weir-deliver@.service
	$(INSTALL) -m 644 $(SAMPLE) $(DESTDIR)$(SHAREDIR)
	for file in $(LICENCES); do echo "---- $$(basename "$$(dirname "$$file")"): $$(basename "$$file")"; cat "$$file"; \
	  done >$(DESTDIR)$(DOCDIR)/third-party-licences
	chmod 644 $(DESTDIR)$(DOCDIR)/third-party-licences

uninstall: need-folders
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,libweir.a libweir.so $(SONAME) $(SONAME).* pkgconfig/weir.pc)
	rm -rf $(DESTDIR)$(LIBDIR)/cmake/weir
	rm -f $(addprefix $(DESTDIR)$(INCLUDEDIR)/,$(notdir $(C_HEADERS)))
	rm -f $(DESTDIR)$(MANDIR)/man1/weir.1 $(DESTDIR)$(MANDIR)/man1/weir-*.1
	rm -f $(DESTDIR)$(MANDIR)/man3/weir.3 $(DESTDIR)$(MANDIR)/man3/weir_*.3
	rm -f $(addprefix $(DESTDIR),$(BINDIR)/weir $(BASHDIR)/weir $(ZSHDIR)/_weir $(FISHDIR)/weir.fish \
	  $(UNITDIR)/weir-deliver@.service $(SHAREDIR)/apache_access.log $(DOCDIR)/third-party-licences)
	for folder in $(addprefix $(DESTDIR),$(SHAREDIR) $(DOCDIR)); do \
	  [ ! -d $$folder ] || rmdir --ignore-fail-on-non-empty $$folder; done

# ---- The interface of the library ------------------------------------------------------------------------------------

# liburcu and others keep their interface so. What the header inlines is versioned by WEIR_ABI; this is all the rest.
need-abigail:
	@command -v abidw >/dev/null 2>&1 || $(call install,abigail-tools)

ABIDW = abidw --headers-dir include --drop-private-types --no-corpus-path --no-comp-dir-path --short-locs \
  --drop-undefined-syms --no-show-locs

$(C)/libweir.abi: $(C)/$(SONAME) | need-abigail
	$(ABIDW) $< --out-file $@

abi: $(C)/libweir.abi
	cp $< Packaging/libweir.abi

# ---- Debian packages -------------------------------------------------------------------------------------------------

need-packaging:
	@command -v dh >/dev/null 2>&1 && command -v dpkg-buildpackage >/dev/null 2>&1 || $(call install,debhelper dpkg-dev)

# The commit HEAD, or without a repository the whole folder; debian/ goes where Debian's tools look for it. The date of
# the version is that of the commit. ARCH=arm64 builds for another processor, as dpkg-buildpackage does. What make was
# given is not for the rules, which have flags and a folder of their own.
DEB = $(BUILD)/deb
DEB_SOURCE = $(DEB)/weir-$(VERSION)
TOOL = yes
ARCH =

deb: need-cc need-packaging need-python $(if $(or $(ARCH),$(filter no,$(TOOL))),,$(INSTALLED_TOOL))
	$(if $(and $(ARCH),$(filter-out no,$(TOOL))),$(error The tool is not built across: add TOOL=no))
	@[ '$(TOOL)' = no ] || [ ! -e .git ] || { changed=$$(git status --porcelain) && [ -z "$$changed" ] || { \
	  echo 'weir: commit first: the library is packed as committed, and the tool as built' >&2; exit 1; }; }
	rm -rf $(DEB) && mkdir -p $(DEB_SOURCE)
	$(if $(wildcard .git),git archive HEAD,tar -c --exclude='./.build*' --exclude='./$(BUILD)' .) | tar -x -C $(DEB_SOURCE)
	cp -R $(DEB_SOURCE)/Packaging/debian $(DEB_SOURCE)/debian
	printf 'weir (%s) unstable; urgency=medium\n\n  * Version %s.\n\n -- %s  %s\n' $(VERSION) $(VERSION) \
	  "$$(sed -n 's/^Maintainer: //p' $(DEB_SOURCE)/debian/control)" \
	  "$$($(if $(wildcard .git),git log -1 --format=%cD,date -R $${SOURCE_DATE_EPOCH:+-d @$$SOURCE_DATE_EPOCH}))" \
	  >$(DEB_SOURCE)/debian/changelog
	cd $(DEB_SOURCE) && env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS DEB_BUILD_PROFILES='$(if $(filter no,$(TOOL)),pkg.weir.notool)' \
	  INSTALLED_TOOL=$(abspath $(INSTALLED_TOOL)) dpkg-buildpackage -b -us -uc $(ARCH:%=-a%)
	@ls -1 $(DEB)/*.deb
