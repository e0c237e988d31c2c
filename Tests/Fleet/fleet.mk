# fleet.mk: many hosts, a broker that is killed, and a collector: Tests/Fleet/README.md.
#
#   make fleet-crash        ROUNDS (20) of a fleet that is killed at random; or KILLS= in all (SERVER=, SEED=)
#   make test-fleet-guide   the ten commands of the guide to fleets, as printed
#   make fleet-twins        faults put into the tool, each of which has to be found (TWIN=)
#   make fleet-bench        events a second beside producers without a log; lag, memory, bytes (HOSTS=, TURNS=)

.PHONY: fleet-crash test-fleet-guide fleet-twins fleet-bench

FLEET = $(BUILD)/fleet
FLEET_ROUNDS = $(if $(filter command%,$(origin ROUNDS)),$(ROUNDS),20)
# old is nats-server on the PATH, or what NATS_SERVER names; new is the newest of PyPI; kafka speaks Kafka's protocol.
SERVER = old
KILLS =
FLEET_OPTIONS = $(if $(KILLS),--kills $(KILLS),--rounds $(FLEET_ROUNDS)) --server $(SERVER) --build $(FLEET) --keep \
  $(if $(SEED),--seed $(SEED))

fleet-crash: need-swift need-lz4 need-zlib need-ncurses need-python need-brokers need-nats-server
	@[ -x $(BUILD)/debug/weir ] || $(TEST_BUILD) --product weir
	python3 -B Tests/Fleet/fleet_crash.py $(BUILD)/debug/weir $(FLEET_OPTIONS)

test-fleet-guide: need-swift need-lz4 need-zlib need-ncurses need-python need-brokers need-nats-server
	@[ -x $(BUILD)/debug/weir ] || $(TEST_BUILD) --product weir
	python3 -B Tests/Fleet/guide_test.py $(BUILD)/debug/weir

fleet-twins: need-swift need-lz4 need-python need-brokers need-nats-server
	Tests/Fleet/Twins/try.sh $(BUILD) '$(SWIFT)' $(JOBS) $(TWIN)

# Beside what make fleet-simulation builds, but with other traits: in a folder of its own.
# FLEET_BENCH_FLAGS: --only saturation|fixed, --seconds N, --rate N, --forms json,binary,ready, --directory DIR.
HOSTS = 1000
TURNS = 3
FLEET_BENCH_FLAGS =

fleet-bench: need-swift need-lz4 need-python need-brokers need-nats-server
	for product in weir FleetBench; do \
	  WEIR_SIMULATION=1 $(SWIFT) build -c release -j $(JOBS) --scratch-path $(FLEET)/bench $(SWIFT_FLAGS) \
	    --traits Tool,NATS --product $$product || exit 1; \
	done
	python3 -B Tests/Fleet/fleet_bench.py $(FLEET)/bench/release/FleetBench $(FLEET)/bench/release/weir \
	  --hosts $(HOSTS) --turns $(TURNS) --server $(SERVER) --build $(FLEET) $(FLEET_BENCH_FLAGS)
