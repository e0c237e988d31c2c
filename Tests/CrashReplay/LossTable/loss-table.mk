# loss-table.mk: what kills lose, with what programs use today and with Weir.
#
#   make loss-table         LOSS_KILLS kills of SQLite, JSON Lines, a queue in memory and Weir (LOSS_FLAGS)
#   make loss-table-page    the same, into the page of losses

# One kill schedule against what programs use today and Weir: Tests/CrashReplay/LossTable. What the stores write lies
# under $(BUILD), on the disk that it is on. Without SQLite's library its rows are "not run".
LOSS = $(C)/loss-table
LOSS_PAGE = Sources/Weir/Weir.docc/Guides/Losses.md
LOSS_KILLS = 40
LOSS_FLAGS =
LOSS_SOURCES = $(wildcard Tests/CrashReplay/LossTable/*.c)

.PHONY: loss-table loss-table-page loss-table-short need-sqlite

need-sqlite:
	@[ -e /usr/include/sqlite3.h ] || ( $(call install,libsqlite3-dev) ) || true

loss-table: need-c need-sqlite
	@$(MAKE) --no-print-directory $(LOSS)/loss_table
	TMPDIR=$(abspath $(LOSS)) $(LOSS)/loss_table --kills $(LOSS_KILLS) $(LOSS_FLAGS)

# The same, into the page of losses.
loss-table-page:
	@mkdir -p $(C)
	@$(MAKE) --no-print-directory loss-table LOSS_FLAGS='--markdown $(LOSS_FLAGS)' >$(LOSS).md
	awk 'NR == FNR { if (/^\|/) on = 1; if (on && !/ passed, /) table = table $$0 "\n"; next } \
	     $$0 == "<!-- loss-table -->" { printf "%s\n%s", $$0, table; off = 1 } \
	     $$0 == "<!-- end -->" { off = 0 } !off' $(LOSS).md $(LOSS_PAGE) >$(LOSS).page
	cp $(LOSS).page $(LOSS_PAGE)

# What `make test` runs.
loss-table-short: need-c need-sqlite
	@$(MAKE) --no-print-directory $(LOSS)/loss_table
	TMPDIR=$(abspath $(LOSS)) $(LIMITED) $(LOSS)/loss_table --check

$(LOSS)/loss_table: $(LOSS_SOURCES) Tests/CrashReplay/LossTable/subject.h Tests/C/check.h $(C)/libweir.a
	@mkdir -p $(@D)
	$(CC) $(filter-out -MMD -MP,$(C_FLAGS)) $(CFLAGS) -ITests/C $(filter %.c %.a,$^) \
	  $(C_LIBS) $$([ ! -e /usr/include/sqlite3.h ] || echo -lsqlite3) -o $@
