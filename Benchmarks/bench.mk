# bench.mk: what capture, recovery and delivery cost.
#
#   make bench              all benchmarks, charts, the tables of the documentation; $(BUILD)/bench/results.jsonl
#   make bench-quick        what a capture costs at 1 and 3 threads beside others, in under 40 seconds
#   make bench-deps         installs the libraries that Weir is measured beside, and what draws the charts
#   make bench-charts       draws the charts and tables anew from the results of the last make bench, and judges targets
#   make bench-behind       what stands behind a capture: drain-, opening-, request- and behind-bench, and the charts
#   make bench-sync         what waiting for the disk costs, on the disk of DIR ($(BUILD))
#   make bench-micro        micro-benchmarks of single calls (builds its tools first)
#   make recovery-bench     what recovery costs: by the number of segments, by the byte, of a full ring
#   make drain-bench        what follows a capture costs: processor time an event of all threads, beside write() and
#                           LTTng-UST, at 1 to 64 threads, 10^5 to 10^8 events
#   make opening-bench      what opening costs: the first event in a new log, and after a kill
#   make request-bench      what a request pays: bindings, the inspector
#   make audit-bench        how many audits a second, on the disk of DIR ($(BUILD)) and where a sync takes SYNC us (200)
#   make behind-bench       delivery beside syslog-ng and rsyslog, by size and destinations, in batch segments, bytes on
#                           disk, idle, a web service with Weir and without, and the monitor
#   make monitor-bench      the monitor: from capture to pixel, captures beside it, the page's memory, its own
#   make reconcile-bench    a log held against a control of 10^5 to 10^7 events, and two copies of a log of 10 GB
#   make batch-bench        what batch segments cost, and how much smaller they are, beside LZ4 itself
#   make copy-bench         what a capture costs by the length of its string, beside a bare copy
#   make delivery-bench     what delivery costs: as JSON, to files, over HTTP on loopback; beside the disk and a socket
#   make fleet-simulation   up to a million hosts: real states and collectors, and regions by a virtual clock
#   make logging-bench      what a line of swift-log costs, by log handler
#   make hook-bench         what a join point costs a call: with nothing attached, and with advice that counts

.PHONY: bench-build bench-quick bench-behind

BENCH = $(BUILD)/bench
BENCH_FLAGS =
BENCH_RUN = $(BENCH)/package/release/capture-bench --results $(BENCH)/results.jsonl \
            --commit "$$(git describe --always --dirty 2>/dev/null || echo unknown)"
BENCH_PACKAGES = libconcurrentqueue-dev liblttng-ust-dev liblttng-ctl-dev lttng-tools babeltrace2 libspdlog-dev \
                 libsqlite3-dev librocksdb-dev pkg-config python3-matplotlib wrk
BENCH_RESULTS = $(BENCH)/behind.jsonl

bench-build: need-swift need-lz4 need-c
	@$(MAKE) --no-print-directory bench-peers
	@touch Benchmarks/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks --scratch-path $(BENCH)/package $(SWIFT_FLAGS) \
	  --product capture-bench

bench: bench-build bench-tool service-build
	$(BENCH_RUN) $(BENCH_FLAGS)
	@$(MAKE) --no-print-directory batch-bench
	@$(MAKE) --no-print-directory delivery-bench
	@$(MAKE) --no-print-directory hook-bench
	@$(MAKE) --no-print-directory bench-behind

bench-behind:
	@rm -f $(BENCH_RESULTS)
	@$(MAKE) --no-print-directory drain-bench
	@$(MAKE) --no-print-directory opening-bench
	@$(MAKE) --no-print-directory request-bench
	@$(MAKE) --no-print-directory behind-bench
	@$(MAKE) --no-print-directory bench-charts

bench-quick: bench-build
	$(BENCH_RUN) --quick $(BENCH_FLAGS)

# The benchmarks in C alone.
vpath %_bench.c Benchmarks/Recovery Benchmarks/Draining Benchmarks/Batching Benchmarks/Behind Benchmarks/Copying
vpath sink.c Benchmarks/Behind
vpath make_log.c Benchmarks/Behind
vpath paced_writer.c Benchmarks/Behind

$(C)/bench/%: %.c Tests/C/check.h $(C)/libweir.a
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) $(CFLAGS) $< $(C)/libweir.a $(C_LIBS) -ldl -o $@

# What recovery costs. RECOVERY_BENCH_FLAGS: --rounds N, --only open, scan or lanes. TMPDIR says on which file
# system.
RECOVERY_BENCH_FLAGS =

.PHONY: recovery-bench

recovery-bench: need-c $(C)/bench/recovery_bench
	$(C)/bench/recovery_bench $(RECOVERY_BENCH_FLAGS)

# What follows a capture costs, by threads and by events. DRAIN_BENCH_FLAGS: --events N, --rounds N, --threads 1,2,…
# DRAIN_BENCH_SIZES: numbers of events, at one thread. TMPDIR says on which file system; without it: that of $(BENCH).
DRAIN_BENCH_FLAGS =
DRAIN_BENCH = TMPDIR=$${TMPDIR:-$(abspath $(BENCH))} $(C)/bench/drain_bench --results $(BENCH_RESULTS)
DRAIN_BENCH_SIZES = 100000 1000000 10000000 100000000
DRAIN_BENCH_PEER = \
  $(if $(filter lttng-ust,$(PEER_NAMES)),--peer lttng-ust=$(PEERS)/libpeer-lttng-ust.so --daemons lttng-)

.PHONY: drain-bench opening-bench request-bench audit-bench behind-bench service-build bench-tool monitor-bench \
        reconcile-bench

drain-bench: need-c $(C)/bench/drain_bench
	@mkdir -p $(BENCH)
	@$(MAKE) --no-print-directory bench-peers
	$(DRAIN_BENCH) --rounds 3 --threads 1,2,3,4,8,16,32,64 $(DRAIN_BENCH_PEER) $(DRAIN_BENCH_FLAGS)
	@for events in $(DRAIN_BENCH_SIZES); do \
	  if [ "$$(df -Pk $(BENCH) | awk 'NR == 2 { print $$4 }')" -lt $$((events / 8 + 1000000)) ]; then \
	    echo "skipped: draining $$events events, for want of room on the disk"; continue; fi; \
	  $(DRAIN_BENCH) $$([ $$events -le 10000000 ] || echo --rounds 1) $(DRAIN_BENCH_FLAGS) \
	    --events $$events --threads 1 --bench draining-events || exit 1; done

# What opening costs. OPENING_BENCH_FLAGS: --rounds N, --events N. TMPDIR says on which file system.
OPENING_BENCH_FLAGS =

opening-bench: need-c $(C)/bench/opening_bench
	@mkdir -p $(BENCH)
	TMPDIR=$${TMPDIR:-$(abspath $(BENCH))} $(C)/bench/opening_bench --results $(BENCH_RESULTS) $(OPENING_BENCH_FLAGS)

# What a request pays beside its captures. REQUEST_BENCH_FLAGS: --bursts N, --calls N, --events N, --rounds N.
REQUEST_BENCH_FLAGS =

request-bench: need-swift need-lz4
	@touch Benchmarks/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks --scratch-path $(BENCH)/package $(SWIFT_FLAGS) \
	  --product request-bench
	$(BENCH)/package/release/request-bench --directory $(BENCH) --results $(BENCH_RESULTS) $(REQUEST_BENCH_FLAGS)

# Events that are on disk before the caller goes on. For the second disk the log is in memory, and syncs wait.
SYNC = 200

audit-bench: need-swift need-lz4 need-cc
	@touch Benchmarks/Package.swift
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks --scratch-path $(BENCH)/package $(SWIFT_FLAGS) \
	  --product request-bench
	$(BENCH)/package/release/request-bench --audits --directory $(DIR) $(REQUEST_BENCH_FLAGS)
	$(CC) -O2 -fPIC -shared $(C_WARNINGS) Benchmarks/Syncs/slow_sync.c -o $(BENCH)/slow_sync.so
	LD_PRELOAD=$(abspath $(BENCH))/slow_sync.so SYNC_MICROSECONDS=$(SYNC) $(BENCH)/package/release/request-bench \
	  --audits --directory /dev/shm $(REQUEST_BENCH_FLAGS)

# What is measured from outside, of the tool and of a service. BEHIND_BENCH_FLAGS: --quick, --rounds N, --most EVENTS,
# --only peers,delivery,batches,disk,idle,service,monitor, --monitor latency,captures,page,load.
BEHIND_BENCH_FLAGS =
BEHIND_BENCH = $(PYTHON_OF_SYSTEM) Benchmarks/Behind/behind.py --tool $(BENCH)/tool/release/weir --build $(BUILD) \
               --results $(BENCH_RESULTS)

behind-bench: need-c need-python need-browser bench-tool service-build $(C)/bench/sink $(C)/bench/make_log \
              $(C)/bench/paced_writer
	@Benchmarks/Peers/unpack.sh $(BENCH)/syslog
	$(BEHIND_BENCH) $(BEHIND_BENCH_FLAGS)

monitor-bench: need-c need-browser bench-tool $(C)/bench/paced_writer
	$(BEHIND_BENCH) $(BEHIND_BENCH_FLAGS) --only monitor

reconcile-bench: need-c bench-tool $(C)/bench/make_log
	$(BEHIND_BENCH) $(BEHIND_BENCH_FLAGS) --only reconcile

# The service, which is a package of its own: it fetches a web framework.
service-build: need-swift need-lz4
	@touch Benchmarks/Service/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks/Service --scratch-path $(BENCH)/service \
	  $(SWIFT_FLAGS) --product shop

# The tool that is measured: its packages are those of the traits.
bench-tool: need-swift need-lz4 need-zlib need-ncurses
	$(SWIFT) build -c release -j $(JOBS) --scratch-path $(BENCH)/tool $(SWIFT_FLAGS) \
	  --traits Tool,HTTP,Collector,Monitor --product weir

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

# What delivery costs. The tool is the endpoint that takes events over HTTP and the process that sends them.
# DELIVERY_BENCH_FLAGS: --events N, --rounds N, --batches 1000,10000.
DELIVERY_BENCH_FLAGS =

.PHONY: delivery-bench

delivery-bench: need-swift need-lz4 bench-tool
	@touch Benchmarks/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks --scratch-path $(BENCH)/package $(SWIFT_FLAGS) \
	  --product delivery-bench
	$(BENCH)/package/release/delivery-bench --tool $(BENCH)/tool/release/weir --directory $(BENCH) \
	  --results $(BENCH)/delivery.jsonl $(DELIVERY_BENCH_FLAGS)

# What a fleet takes. FLEET_SIMULATION_FLAGS: --quick, --only parts,state,commit,waiting,region,tiers, --hosts N,
# --seed N.
FLEET_SIMULATION_FLAGS =

.PHONY: fleet-simulation

fleet-simulation: need-swift need-lz4
	@mkdir -p $(BENCH)
	WEIR_SIMULATION=1 $(SWIFT) build -c release -j $(JOBS) --scratch-path $(BENCH)/simulation $(SWIFT_FLAGS) \
	  --product FleetSimulation
	$(BENCH)/simulation/release/FleetSimulation --directory $(BENCH) --results $(BENCH)/fleet-simulation.jsonl \
	  --commit "$$(git describe --always --dirty 2>/dev/null || echo unknown)" $(FLEET_SIMULATION_FLAGS)

# What a join point costs a call, on one processor. HOOK_BENCH_FLAGS: --check (fails if it is more than promised),
# --bursts N, --calls N.
HOOK_BENCH_FLAGS =

.PHONY: hook-bench

hook-bench: need-swift need-lz4
	@touch Benchmarks/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks --scratch-path $(BENCH)/package $(SWIFT_FLAGS) \
	  --product hook-bench
	$$(taskset -c 1 true 2>/dev/null && echo taskset -c 1) $(BENCH)/package/release/hook-bench $(HOOK_BENCH_FLAGS)

# What a line of swift-log costs, by log handler, on one processor. LOGGING_BENCH_FLAGS: --bursts N, --lines N, --only NAME.
LOGGING_BENCH_FLAGS =

.PHONY: logging-bench

logging-bench: need-swift need-lz4
	@touch Benchmarks/Package.swift # or files that are new in the package it depends on are not seen
	$(SWIFT) build -c release -j $(JOBS) --package-path Benchmarks --scratch-path $(BENCH)/package $(SWIFT_FLAGS) \
	  --product logging-bench
	$(BENCH)/package/release/logging-bench --directory $(BENCH) $(LOGGING_BENCH_FLAGS)

# Single calls under ordo-one's benchmark; in a folder of its own, for its packages are not those of the others.
bench-micro: need-swift need-lz4
	WEIR_MICRO=1 $(SWIFT) package --package-path Benchmarks --scratch-path $(BENCH)/micro $(SWIFT_FLAGS) benchmark

bench-deps: need-c
	@$(call install,$(BENCH_PACKAGES))
	@Benchmarks/Peers/unpack.sh $(BENCH)/syslog

# What waiting for the disk costs on the disk that $(DIR) is on.
DIR = $(BUILD)
bench-sync: need-c $(C)/libweir.a
	$(CC) $(C_FLAGS) $(CFLAGS) Benchmarks/Syncs/syncs.c $(C)/libweir.a $(C_LIBS) -o $(C)/syncs
	$(C)/syncs $(DIR)

# From the results of the last `make bench`: the charts and tables of the documentation.
bench-charts:
	@if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then \
	  /usr/bin/python3 Benchmarks/charts.py $(BENCH)/results.jsonl $(BENCH_RESULTS) $(BENCH)/delivery.jsonl \
	    $(BENCH)/machine.json; \
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
