# service.mk: a service with Weir in it, loaded, killed and measured: Tests/Service.
#
#   make test-service    ROUNDS (3) of the service under load, killed at random; then every answer is held against the log
#   make service-bench   requests a second and p99 with Weir and without; durable requests a second (TURNS=)

.PHONY: test-service service-bench need-wrk

SERVICE = $(BUILD)/service
SERVICE_ROUNDS = $(if $(filter command%,$(origin ROUNDS)),$(ROUNDS),3)
SERVICE_BUILD = $(SWIFT) build -c release -j $(JOBS) --package-path Tests/Service --scratch-path $(SERVICE) \
  -debug-info-format none --disable-index-store $(SWIFT_FLAGS)

need-wrk:
	@command -v wrk >/dev/null 2>&1 || $(call install,wrk)

test-service: need-swift need-lz4 need-python need-wrk
	$(SERVICE_BUILD) --product order-service
	python3 -B Tests/Service/service_test.py $(SERVICE)/release/order-service --rounds $(SERVICE_ROUNDS) \
	  $(if $(SEED),--seed $(SEED))

# SERVICE_BENCH_FLAGS: --seconds N, --connections N, --audit-connections N, --directory DIR.
service-bench: need-swift need-lz4 need-python need-wrk
	$(SERVICE_BUILD)
	@rm -rf $(SERVICE)/log
	$(SERVICE)/release/middleware-bench $(SERVICE)/log
	@rm -rf $(SERVICE)/log
	python3 -B Tests/Service/service_bench.py $(SERVICE)/release/order-service $(if $(TURNS),--turns $(TURNS)) \
	  --directory $(SERVICE) $(SERVICE_BENCH_FLAGS)
