# Targets are aliases: each is one or two commands that you can type yourself. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help demo stand-ins test check lint race bench bench-all bench-once vuln sim conformance smoke

GO ?= go
# The tools have a module of their own, so that their dependencies are not ours.
tool = $(GO) tool -modfile=tools/go.mod
VULNDB ?= https://vuln.go.dev

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## a real Postgres, both stand-ins and both services; ends with a verdict
	$(GO) run ./deploy/local

stand-ins: ## both stand-ins alone, on fixed ports, until ^C
	$(GO) run ./deploy/local --only pubsub,bigquery

test: ## all tests
	$(GO) test ./...

check: lint race bench-once vuln ## lint, race tests, benchmarks once, known vulnerabilities; CI adds conformance and sim

lint: ## gofumpt, go vet, staticcheck, go fix, go mod tidy: each must have nothing to say
	@unformatted=$$($(tool) gofumpt -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "gofumpt -l . (to repair: go tool -modfile=tools/go.mod gofumpt -w .):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(tool) staticcheck ./...
	$(GO) fix -diff ./...
	$(GO) mod tidy -diff
	$(GO) -C tools mod tidy -diff

race: ## all tests with the race detector (needs gcc)
	CGO_ENABLED=1 $(GO) test -race ./...

bench: ## the figures that the documents claim: five runs each, one line a figure (minutes)
	$(GO) run ./deploy/figures

bench-all: ## all benchmarks, six runs each, ready for benchstat
	$(GO) test -run '^$$' -bench . -benchmem -count 6 ./...

bench-once: ## every benchmark once, to see that it still works
	$(GO) test -run '^$$' -bench . -benchtime 1x ./...

vuln: ## known vulnerabilities in what we call (govulncheck), if its database can be reached
	@if ! command -v curl >/dev/null; then \
		echo "govulncheck: NOT RUN, curl is missing, so nobody can ask whether $(VULNDB) can be reached"; \
	elif curl -fsSL --max-time 10 -o /dev/null $(VULNDB)/index/db.json; then \
		$(tool) govulncheck -db $(VULNDB) ./...; \
	else \
		echo "govulncheck: NOT RUN, its database $(VULNDB) can't be reached from here"; \
	fi

sim: ## 10,000 seeds of the simulation (half a minute); SEED=n make sim repeats one with its last steps
	$(GO) run ./deploy/sim

conformance: ## the Pub/Sub cases against Google's emulator (Java, the Cloud SDK's jar)
	$(GO) test -C publish/pubsubtest/conformance -count 1 -emulator

smoke: ## both conformance suites against the real services (hours): make smoke PROJECT=my-project
	@test -n "$(PROJECT)" || { echo "make smoke PROJECT=my-project: with application default credentials; it makes topics, subscriptions and datasets there, and deletes them again" >&2; exit 2; }
	$(GO) test -v -p 1 -parallel 20 -count 1 -timeout 3h ./publish/pubsubtest/conformance ./sink/bigquerytest/conformance -run '^TestConformance$$' -project $(PROJECT)
