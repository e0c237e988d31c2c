# bench.mk: what capture, recovery and delivery cost.
#
#   make bench              all benchmarks, charts, the tables of the documentation; $(BUILD)/bench/results.jsonl
#   make bench-quick        what a capture costs at 1 and 3 threads beside others, in under 40 seconds
#   make bench-deps         installs the libraries that Weir is measured beside, and what draws the charts
#   make bench-charts       draws the charts and tables anew from the results of the last make bench
#   make bench-sync         what waiting for the disk costs, on the disk of DIR ($(BUILD))
#   make bench-micro        micro-benchmarks of single calls (builds its tools first)
#   make recovery-bench     what recovery costs: by the number of segments, by the byte, of a full ring
#   make drain-bench        what follows a capture costs: processor time an event of all threads, beside write()
#   make batch-bench        what batch segments cost, and how much smaller they are, beside LZ4 itself
#   make copy-bench         what a capture costs by the length of its string, beside a bare copy
#   make delivery-bench     what delivery costs: as JSON, to files, over HTTP on loopback; beside the disk and a socket
#   make hook-bench         what a join point costs a call: with nothing attached, and with advice that counts

.PHONY: bench-build bench-quick

BENCH = $(BUILD)/bench
BENCH_FLAGS =
BENCH_RUN = $(BENCH)/package/release/capture-bench --results $(BENCH)/results.jsonl \
            --commit "$$(git describe --always --dirty 2>/dev/null || echo unknown)"
BENCH_PACKAGES = libconcurrentqueue-dev liblttng-ust-dev liblttng-ctl-dev lttng-tools babeltrace2 libspdlog-dev \
                 libsqlite3-dev librocksdb-dev pkg-config python3-matplotlib

bench-build: need-swift need-lz4 need-c
	@$(MAKE) --no-print-directory bench-peers
	@touch Benchmarks/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks --scratch-path $(BENCH)/package $(SWIFT_FLAGS) \
	  --product capture-bench

bench: bench-build
	$(BENCH_RUN) $(BENCH_FLAGS)
	@$(MAKE) --no-print-directory bench-charts
	@$(MAKE) --no-print-directory drain-bench
	@$(MAKE) --no-print-directory batch-bench
	@$(MAKE) --no-print-directory delivery-bench
	@$(MAKE) --no-print-directory hook-bench

bench-quick: bench-build
	$(BENCH_RUN) --quick $(BENCH_FLAGS)

# The benchmarks in C alone.
vpath %_bench.c Benchmarks/Recovery Benchmarks/Draining Benchmarks/Batching Benchmarks/Copying

$(C)/bench/%: %.c Tests/C/check.h $(C)/libcweir.a
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) $(CFLAGS) $< $(C)/libcweir.a $(C_LIBS) -o $@

# What recovery costs. RECOVERY_BENCH_FLAGS: --rounds N, --only open, scan or lanes. TMPDIR says on which file
# system.
RECOVERY_BENCH_FLAGS =

.PHONY: recovery-bench

recovery-bench: need-c $(C)/bench/recovery_bench
	$(C)/bench/recovery_bench $(RECOVERY_BENCH_FLAGS)

# What follows a capture costs. DRAIN_BENCH_FLAGS: --events N, --rounds N. TMPDIR says on which file system.
DRAIN_BENCH_FLAGS =

.PHONY: drain-bench

drain-bench: need-c $(C)/bench/drain_bench
	$(C)/bench/drain_bench $(DRAIN_BENCH_FLAGS)

# What batch segments cost, and how much smaller they are. BATCH_BENCH_FLAGS: --rounds N, --mib N, --sample FILE.
BATCH_BENCH_FLAGS =

.PHONY: batch-bench

batch-bench: need-c need-lz4-tool $(C)/bench/batch_bench
	$(C)/bench/batch_bench $(BATCH_BENCH_FLAGS)

# What a capture costs by the length of its string. COPY_BENCH_FLAGS: --rounds N. TMPDIR says on which file system.
COPY_BENCH_FLAGS =

.PHONY: copy-bench

copy-bench: need-c $(C)/bench/copy_bench
	$(C)/bench/copy_bench $(COPY_BENCH_FLAGS)

# What delivery costs. The tool is the endpoint that takes events over HTTP and the process that sends them; its packages
# are those of the traits. DELIVERY_BENCH_FLAGS: --events N, --rounds N, --batches 1000,10000.
DELIVERY_BENCH_FLAGS =

.PHONY: delivery-bench

delivery-bench: need-swift need-lz4 need-zlib
	@touch Benchmarks/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks --scratch-path $(BENCH)/package $(SWIFT_FLAGS) \
	  --product delivery-bench
	$(SWIFT) build -c release -j $(JOBS) --scratch-path $(BENCH)/tool $(SWIFT_FLAGS) --traits Tool,HTTP,Collector --product weir
	$(BENCH)/package/release/delivery-bench --tool $(BENCH)/tool/release/weir --directory $(BENCH) \
	  --results $(BENCH)/delivery.jsonl $(DELIVERY_BENCH_FLAGS)

# What a join point costs a call, on one processor. HOOK_BENCH_FLAGS: --check (fails if it is more than promised),
# --bursts N, --calls N.
HOOK_BENCH_FLAGS =

.PHONY: hook-bench

hook-bench: need-swift need-lz4
	@touch Benchmarks/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks --scratch-path $(BENCH)/package $(SWIFT_FLAGS) \
	  --product hook-bench
	$$(taskset -c 1 true 2>/dev/null && echo taskset -c 1) $(BENCH)/package/release/hook-bench $(HOOK_BENCH_FLAGS)

# Single calls under ordo-one's benchmark; in a folder of its own, for its packages are not those of the others.
bench-micro: need-swift need-lz4
	WEIR_MICRO=1 $(SWIFT) package --package-path Benchmarks --scratch-path $(BENCH)/micro $(SWIFT_FLAGS) benchmark

bench-deps: need-c
	@$(call install,$(BENCH_PACKAGES))

# What waiting for the disk costs on the disk that $(DIR) is on.
DIR = $(BUILD)
bench-sync: need-c $(C)/libcweir.a
	$(CC) $(C_FLAGS) $(CFLAGS) Benchmarks/Syncs/syncs.c $(C)/libcweir.a $(C_LIBS) -o $(C)/syncs
	$(C)/syncs $(DIR)

# From the results of the last `make bench`: the charts and tables of the documentation.
bench-charts:
	@if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then \
	  /usr/bin/python3 Benchmarks/charts.py $(BENCH)/results.jsonl $(BENCH)/machine.json; \
	else echo 'skipped: charts, for want of python3-matplotlib (make bench-deps installs it)'; fi

# The libraries that Weir is measured beside, each behind a small library of its own, where its headers are.
PEERS = $(BENCH)/peers
PEER_FLAGS = -O2 -g -fPIC -shared $(C_WARNINGS) -IBenchmarks/Sources/CaptureSubjects/include -Iinclude
PEER_NAMES = $(if $(wildcard /usr/include/concurrentqueue/concurrentqueue.h),moodycamel) \
             $(if $(wildcard /usr/include/spdlog/spdlog.h),spdlog) \
             $(if $(wildcard /usr/include/sqlite3.h),sqlite-wal-1 sqlite-wal-1000) \
             $(if $(wildcard /usr/include/rocksdb/db.h),rocksdb-wal) \
             $(if $(and $(wildcard /usr/include/lttng/lttng.h),$(wildcard /usr/include/*/lttng/tracepoint.h)),lttng-ust)
PEER_HEADERS = Benchmarks/Sources/CaptureSubjects/include/peer.h include/weir_capture.h
CXX_PEER = @mkdir -p $(@D) && echo 'building $@' && $(CXX) -std=c++17 $(PEER_FLAGS) $< -o $@ -pthread
C_PEER = @mkdir -p $(@D) && echo 'building $@' && $(CC) -std=gnu11 $(PEER_FLAGS) $< -o $@

bench-peers: $(PEER_NAMES:%=$(PEERS)/libpeer-%.so)

$(PEERS)/libpeer-moodycamel.so: Benchmarks/Peers/moodycamel.cpp $(PEER_HEADERS)
	$(CXX_PEER)

$(PEERS)/libpeer-spdlog.so: Benchmarks/Peers/spdlog.cpp $(PEER_HEADERS)
	$(CXX_PEER) $$(pkg-config --cflags --libs spdlog)

$(PEERS)/libpeer-sqlite-wal-%.so: Benchmarks/Peers/sqlite_wal.cpp $(PEER_HEADERS)
	$(CXX_PEER) -DEVENTS_A_TRANSACTION=$* -lsqlite3

$(PEERS)/libpeer-rocksdb-wal.so: Benchmarks/Peers/rocksdb_wal.cpp $(PEER_HEADERS)
	$(CXX_PEER) -lrocksdb

$(PEERS)/liblttng-%.so: Benchmarks/Peers/lttng-ust/%.c Benchmarks/Peers/lttng-ust/event.h $(PEER_HEADERS)
	$(C_PEER) -IBenchmarks/Peers/lttng-ust -llttng-ust

$(PEERS)/libpeer-lttng-ust.so: Benchmarks/Peers/lttng-ust/peer.c $(PEER_HEADERS) \
                               $(PEERS)/liblttng-event.so $(PEERS)/liblttng-clock.so
	$(C_PEER) -llttng-ctl -ldl

.PHONY: bench-sync bench-micro bench-deps bench-charts bench-peers
