SHELL := /bin/bash -o pipefail

# Versions of tools that are no dependency of the code: pinned here and nowhere else.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Packages whose tests are quick enough to run under the race detector on every change.
FAST := ./bench/... ./workloads/... ./oracles/... ./results/... ./cmd/closing/...

# SIXTHCOPY_NO_SKIP=1 turns a skipped test into a failure.
CLOSING := go run ./cmd/closing $(if $(SIXTHCOPY_NO_SKIP),-no-skip)

STATIC := -tags netgo,osusergo,sqlite_omit_load_extension -ldflags '-extldflags -static'

.DEFAULT_GOAL := help
.PHONY: help check test deep bench build clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | column -t -s "$$(printf '\t')"

check: ## format, vet, staticcheck, race tests of the quick packages; under two minutes warm
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted (gofmt -w):"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...
	go test -race -json $(FAST) | $(CLOSING)

test: ## all tests that this machine can run; skipped ones are named last
	go test -count=1 -timeout 20m -json ./... | $(CLOSING) -deep results/deep

deep: ## tests that take hours; their result is stored in results/deep with the commit
	go test -count=1 -timeout 24h -tags deep -run '^TestDeep' -json ./... | $(CLOSING) -record results/deep

bench: ## benchmarks, compared side by side where a limit is promised
	go test -run '^$$' -bench . -benchtime 1s ./...

build: ## one static binary: bin/sixthcopy
	CGO_ENABLED=1 go build -trimpath $(STATIC) -o bin/sixthcopy ./cmd/sixthcopy

clean: ## remove what was built; runs and deep results stay
	rm -rf bin
