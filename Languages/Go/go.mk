# go.mk: the reader in Go.
#
#   make test-go   its tests: the golden logs, logs with random damage (WEIR_SEED names them)
#   make fuzz-go   fuzzes it for GO_FUZZ_TIME (60s) on segments, and as long on rings
#   make weircat   the program that prints a log: $(BUILD)/go/weircat

.PHONY: need-go test-go fuzz-go weircat

GO_OUT = $(abspath $(BUILD))/go
GO_FUZZ_TIME = 60s
# Without cgo nothing of the reader can come from the C library. Without the proxy nothing is fetched: it needs nothing.
GO_RUN = cd Languages/Go && CGO_ENABLED=0 GOPROXY=off go

need-go:
	@command -v go >/dev/null 2>&1 || $(call install,golang-go)

test-go: need-go
	$(GO_RUN) vet ./...
	$(GO_RUN) test -count 1 -timeout 600s ./...

fuzz-go: need-go
	$(GO_RUN) test -run '^$$' -fuzz FuzzSegment -fuzztime $(GO_FUZZ_TIME) -fuzzminimizetime 1s .
	$(GO_RUN) test -run '^$$' -fuzz FuzzRing -fuzztime $(GO_FUZZ_TIME) -fuzzminimizetime 1s .

weircat: need-go
	@mkdir -p $(GO_OUT)
	$(GO_RUN) build -o $(GO_OUT)/weircat ./cmd/weircat
