SHELL := /bin/bash -o pipefail

# Versions of tools that are no dependency of the code: pinned here and nowhere else.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Packages whose tests are quick enough to run under the race detector on every change.
FAST := ./bench/... ./workloads/... ./oracles/... ./results/... ./cmd/closing/...

# SIXTHCOPY_NO_SKIP=1 turns a skipped test into a failure.
CLOSING := go run ./cmd/closing $(if $(SIXTHCOPY_NO_SKIP),-no-skip)

# Figures of benchmarks for which a limit is promised: benchmark,unit,limit;...
LIMITS := BenchmarkBoundaryToxic,ratio,at most 1.25;BenchmarkKillAndRestart,ratio,at most 3;BenchmarkRetention/day,ratio,at most 1.2;BenchmarkRetention/month,ratio,at most 1.2;BenchmarkQuickSuite,trials/s,at least 60

STATIC := -tags netgo,osusergo,sqlite_omit_load_extension -ldflags '-extldflags -static'

.DEFAULT_GOAL := help
.PHONY: help check clients setup-systems test deep bench build clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | column -t -s "$$(printf '\t')"

check: ## format, vet, staticcheck, race tests of the quick packages; under two minutes warm
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted (gofmt -w):"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	@for m in systems/*/go.mod; do echo "go vet: $${m%/go.mod}"; (cd $${m%/go.mod} && go vet ./...) || exit 1; done # modules of their own: gofmt sees them above
	go run $(STATICCHECK) ./...
	go test -race -json $(FAST) | $(CLOSING)

clients: ## install the real SDKs for fakeproviders/conformance into .cache/clients; quick when nothing changed
	@fakeproviders/conformance/clients/install

setup-systems: ## make all systems ready to run; names what lacks a toolchain, with the command that installs it
	go run ./cmd/sixthcopy setup
	@cd systems/kit/python/test && sh ../setup.sh # pytest and mypy, for the tests of the Python kit

test: ## all tests that this machine can run; skipped ones are named last
	@fakeproviders/conformance/clients/install || echo "not all clients are installed: their tests are skipped by name"
	go test -count=1 -timeout 60m -json ./... | $(CLOSING) -deep results/deep

deep: ## tests that take hours; their result is stored in results/deep with the commit
	go test -count=1 -timeout 24h -tags deep -run '^TestDeep' -json ./... | $(CLOSING) -record results/deep

bench: ## benchmarks; the figures with a promised limit come last, ratios taken side by side in one run
	go test -run '^$$' -bench . -benchtime 1s ./... | awk -v limits='$(LIMITS)' ' \
		{ print; fflush(); if (!/^Benchmark/) next; \
		  n = split(limits, line, ";"); name = $$1; sub(/-[0-9]+$$/, "", name); \
		  for (k = 1; k <= n; k++) { split(line[k], want, ","); \
		    for (i = 3; i < NF; i++) if (name == want[1] && $$(i+1) == want[2]) out[k] = sprintf("%-26s %10s %-10s %s", name, $$i, want[2], want[3]) } } \
		END { n = split(limits, line, ";"); print "\npromised:"; for (k = 1; k <= n; k++) { print out[k] ? out[k] : line[k] ": not measured"; bad += !out[k] } exit bad }'

build: ## one static binary: bin/sixthcopy
	CGO_ENABLED=1 go build -trimpath $(STATIC) -o bin/sixthcopy ./cmd/sixthcopy

clean: ## remove what was built; runs and deep results stay
	rm -rf bin
