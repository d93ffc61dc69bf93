# Everything that is done with this repository, one target each. `make` lists them.

SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-print-directory --no-builtin-rules --no-builtin-variables

# go.mod names the toolchain. `auto` lets Go fetch it; an environment that says
# `local` would ignore that line in silence. Flags from outside must not rewrite
# go.mod either. Without the path of the tree and without cgo, everything is compiled once:
# what the build compiled is used by the tests, and in another clone.
export GOTOOLCHAIN := auto
export GOFLAGS     := -mod=readonly -trimpath
export CGO_ENABLED := 0

# At its end each program with the race detector would wait a second for races of
# what still runs; in the tests hundreds of them come to their end.
export GORACE := atexit_sleep_ms=50

MODULE  := github.com/accession-ingest/accession
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BIN     := bin/accession

# Tools run at these versions and never enter go.mod. The version is part of the
# file name, so that a change here builds the new one.
SQLC_VERSION     := v1.31.1
GOLANGCI_VERSION := v2.15.0
DEADCODE_VERSION := v0.52.0
OAPI_VERSION     := v2.8.2
TOOLS            := $(abspath bin/tools)
SQLC             ?= $(TOOLS)/sqlc-$(SQLC_VERSION)
GOLANGCI         ?= $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
DEADCODE         ?= $(TOOLS)/deadcode-$(DEADCODE_VERSION)
OAPI             ?= $(TOOLS)/oapi-codegen-$(OAPI_VERSION)

# Arguments of single targets.
PKG   ?=
N     ?= 20
RUN   ?= .
TIME  ?= 30s
BENCH ?= .
SOAK_TIME ?= 10m
FINISHED ?= 0,100000,1000000
HEAP  ?= 6 GiB

# Two packages at a time: at most two end-to-end tests run at once on two cores.
GOTEST     := go test -p 2 -count=1 -timeout 75m
# The race detector needs cgo, and no program that a test builds does.
RACETEST   := CGO_ENABLED=1 $(GOTEST) -race -exec 'env CGO_ENABLED=0'
WITH_STACK := deploy/ci/with-stack.sh

# Packages whose tests ask for ZooKeeper, NATS or PostgreSQL. All others are unit
# tests; one that is missing here fails in `make unit` and says what it wants.
NEED_SERVERS := /(eventstore/(zklive|jslog|follow)|projections(/projtest)?|cmd/accession/e2e(/model)?|internal/testkit/history|cmd/internal/(answer|app(/people)?|cli|daemon(/(daily|originals|outgoing))?|ready|record|stack|sweep|wire))$$

##@ Start here
.PHONY: help setup demo build

help: ## list the targets (this text)
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

setup: ## install what the demo needs: headless Java, ZooKeeper's jar, PostgreSQL
	@deploy/setup/install.sh

demo: setup build ## deposits walk all the way through, two depositors are served in turn, an open directory is polled, on private servers
	@$(BIN) demo

build: ## build bin/accession, static, without cgo
	@go version
	go build -ldflags '-X $(MODULE)/cmd/internal/cli.Version=$(VERSION)' -o $(BIN) ./cmd/accession

##@ Check
.PHONY: test race setup-test unit lint vet check-generated fmt

# Tests that the race detector would make fail or take minutes: what is large, what
# starts many processes that die (they are built without it in any case), and what
# damages one thing, or takes one row of a table, after another. A new one is named here.
LARGE        := TestCrowdOfPasswords|TestLost(Kinds|Answer|Caller)|LockOfAnother|LostTree|TestKindsOfWrites|TestReleaseOutlastsAnOutage|TestDoubtful|TestSixtyThousand|TenThousand|TestRebuildOfManyEvents|TestMemoryDoesNot|TestJobsLeaveNothing|TestBrokenRequests|TestLongReportsAre|TestLongListNeeds|TestMillionSteps|TestManyFiles$$|TestLongReport$$|NoFaultShowsASecret|TestPagesInABrowser
DYING        := TestBulkActions(OfDrops|OfSlots|ThatSend)|TestFaults(AtRandom|OfOne)|TestDeath(AtOperations|InSteps|InTasks)|KilledAtEachStep|ParkingKilled|SynchronousKilled|ReportKilled|InventoryKilled|OlderTreeKilled|OfDeadWorkers|OfDeadProcesses|FailAgainUnder|EntriesAndQueries|ThatKill|SubmissionDies|RemovalDies|TestOlderCopiesUnderLoad|EntriesUnderKills|ServiceRecordsOnce|ServiceTimeoutBy|StoresOnce|OCFLWriterThatIsKilled
TABLES       := TestEvery(Row|Refusal|FaultOf)|HostileCrowdOfProcesses
DAMAGED      := RepairsEvery|RepairsObjectEntries|TestQueriesOfURLsAreSeenNowhere
WITHOUT_RACE := $(LARGE)|$(DYING)|$(DAMAGED)|$(TABLES)

# Of the other tests a part have the race detector in each run, as its seed draws them: a third
# of the packages, and a quarter of the end-to-end tests. `make race` gives it to all.
E2E      := cat cmd/accession/e2e/*_test.go | sed -nE 's/^func (Test[A-Za-z0-9_]+)\(t .*/\1/p' | grep -vE '^TestSoak|$(WITHOUT_RACE)'
PACKAGES := go list ./... | grep -vE '/cmd/accession/e2e$$|/internal/repocheck'

# One seed a run, from which each test that draws its choices draws them: the reports drop
# what tests print that pass.
test: export ACCESSION_TEST_SEED := $(or $(ACCESSION_TEST_SEED),$(shell shuf -i 1-999999999 -n 1))
test: setup-test ## everything that must hold, against real servers; with the race detector a third of the packages and a quarter of the end-to-end tests
	@echo 'seed $(ACCESSION_TEST_SEED) (ACCESSION_TEST_SEED=$(ACCESSION_TEST_SEED) make test draws the same choices)'
	@$(MAKE) --jobs=2 --output-sync=target build check-generated lint
	@go build -o bin/testreport ./internal/repocheck/testreport
	@failed=; raced="^($$($(E2E) | deploy/ci/drawn.sh 4 $(ACCESSION_TEST_SEED) | paste -sd '|'))$$"; \
	$(WITH_STACK) $(GOTEST) -vet=off -json -run '$(WITHOUT_RACE)' ./cmd/internal/answer ./cmd/internal/config ./cmd/internal/console ./cmd/internal/daemon ./cmd/internal/export ./cmd/internal/store ./eventstore/zklive ./internal/testkit/model ./projections | bin/testreport || failed=1; \
	$(WITH_STACK) $(GOTEST) -vet=off -json -skip "$$raced" ./cmd/accession/e2e ./internal/repocheck/... | bin/testreport || failed=1; \
	$(WITH_STACK) $(GOTEST) -vet=off -json -skip '$(WITHOUT_RACE)' $$($(PACKAGES) | deploy/ci/drawn.sh -v 3 $(ACCESSION_TEST_SEED)) | bin/testreport || failed=1; \
	$(WITH_STACK) env $(RACETEST) -vet=off -json -skip '$(WITHOUT_RACE)' $$($(PACKAGES) | deploy/ci/drawn.sh 3 $(ACCESSION_TEST_SEED)) | bin/testreport || failed=1; \
	$(WITH_STACK) env $(RACETEST) -vet=off -json -run "$$raced" ./cmd/accession/e2e | bin/testreport || failed=1; \
	test -z "$$failed"

race: setup-test build ## all tests that can have the race detector, with it; over an hour on two cores
	@$(WITH_STACK) env $(RACETEST) -skip '$(WITHOUT_RACE)' $$($(PACKAGES)) ./cmd/accession/e2e

setup-test:
	@deploy/setup/install.sh test
	@deploy/setup/webservers.sh bin/web
	@deploy/setup/ocfl.sh bin/ocfl
	@deploy/setup/rclone.sh bin/rclone
	@deploy/setup/browser.sh bin/browser

# Tests that need a browser, the reader of OCFL or rclone, and no servers.
WITH_TOOLS := (InABrowser|OCFLReadByAnotherProgram|OfRclone)$$|/^S3$$

unit: ## tests that need no servers, and nothing of bin/
	@$(GOTEST) -skip '$(WITH_TOOLS)' $$(go list ./... | grep -vE '$(NEED_SERVERS)')

# It has go vet's checks within it, of soak's files too. It collects its garbage seldom: that
# was a quarter of its time.
lint: $(GOLANGCI) $(DEADCODE) ## golangci-lint, as .golangci.yaml says, go vet within it; no function that only tests call
	@GOGC=300 $(GOLANGCI) run ./...
	@DEADCODE=$(DEADCODE) deploy/ci/unused.sh

vet: ## go vet, also of what only `make soak` runs
	@go vet ./...
	@go vet -tags soak ./cmd/accession/... ./internal/testkit/...

fmt: $(GOLANGCI) ## format all Go files
	@$(GOLANGCI) fmt ./...

check-generated: $(SQLC) $(OAPI) ## fail when generated code is stale; the tree is not touched
	@SQLC=$(SQLC) OAPI=$(OAPI) deploy/ci/check-generated.sh

##@ Look closer
.PHONY: repeat fuzz mutants bench soak statements

repeat: setup-test build ## one package many times: make repeat PKG=./eventstore/zklive N=20 [RUN=TestClaim]
	@test -n '$(PKG)' || { echo 'say which package: make repeat PKG=./eventstore/zklive N=20 [RUN=TestClaim]' >&2; exit 2; }
	@$(WITH_STACK) env $(RACETEST) -count=$(N) -run '$(RUN)' $(PKG)

fuzz: ## every fuzz target for a while: make fuzz TIME=30s
	@TIME=$(TIME) deploy/ci/fuzz.sh

mutants: setup-test build ## take one protection out at a time: its test must go red: make mutants [RUN=lock]
	@go build -o bin/mutants ./internal/repocheck/mutants
	@$(WITH_STACK) bin/mutants -run '$(RUN)'

statements: ## count hand-written statements and lines of each package, without tests
	@go run ./internal/repocheck/statements

bench: export ACCESSION_BENCH_FINISHED := $(or $(ACCESSION_BENCH_FINISHED),$(FINISHED))
bench: export ZOOKEEPER_HEAP := $(HEAP)
bench: setup build ## all benchmarks, one package at a time: make bench [BENCH=Transitions] [FINISHED=0,10000 HEAP='2 GiB']
	@deploy/setup/webservers.sh bin/web
	@$(WITH_STACK) go test -p 1 -count=1 -timeout 90m -run '^$$' -bench '$(BENCH)' -benchmem ./...

soak: setup-test build ## faults and power cuts for long, with figures at the end (docs/testing.md): make soak SOAK_TIME=10m [RUN=TestSoakFaults]
	@deploy/ci/soak.sh '$(RUN)' $(SOAK_TIME) '$(MUTANT)'

##@ Change
.PHONY: generate documents record-history clean

generate: $(SQLC) $(OAPI) ## write generated code, schemas and diagrams again
	@$(SQLC) generate
	@go generate ./...
	@deploy/ci/golden.sh
	@$(OAPI) -config internal/testkit/apiclient/config.yaml docs/openapi-3.0.yaml

documents: setup-test build ## write docs/data-dictionary.md and the outputs in docs/sql.md, docs/reports.md and docs/queues.md again, from a database, and the pictures of docs/console.md
	@$(WITH_STACK) go test -count=1 -run 'TestDefinitions|TestDataDictionary|TestSQLExamples' ./projections -write
	@$(WITH_STACK) go test -count=1 -run 'TestExamplesOf(Reports|TheSimulator)' ./cmd/internal/cli -write
	@ACCESSION_TEST_PICTURES=$(abspath docs/console) $(WITH_STACK) go test -count=1 -run 'TestConsole$$' ./cmd/accession/e2e
	@ACCESSION_TEST_PICTURES=$(abspath docs/console) go test -count=1 -run 'TestPagesInABrowser$$' ./cmd/internal/console

record-history: setup-test build ## keep the history of a whole service for later versions: make record-history NAME=v3
	@test -n '$(NAME)' || { echo 'say under which name, such as the version: make record-history NAME=v3' >&2; exit 2; }
	@$(WITH_STACK) go test -count=1 -run TestHistoryOfEverything ./cmd/accession/e2e -record '$(NAME)'
	@$(WITH_STACK) go test -count=1 -run TestRecordedHistories ./cmd/internal/app -record

clean: ## remove what was built, tools too
	rm -rf bin

# sqlc is built without cgo (its parser then runs as WebAssembly, with the same
# output), so that it needs no C compiler. golangci-lint must be built with the
# toolchain whose code it reads, not with the one its own go.mod names.
$(TOOLS)/sqlc-$(SQLC_VERSION):
	@deploy/ci/install-tool.sh $@ github.com/sqlc-dev/sqlc/cmd/sqlc@$(SQLC_VERSION)

$(TOOLS)/golangci-lint-$(GOLANGCI_VERSION):
	@deploy/ci/install-tool.sh $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(TOOLS)/deadcode-$(DEADCODE_VERSION):
	@deploy/ci/install-tool.sh $@ golang.org/x/tools/cmd/deadcode@$(DEADCODE_VERSION)

$(TOOLS)/oapi-codegen-$(OAPI_VERSION):
	@deploy/ci/install-tool.sh $@ github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@$(OAPI_VERSION)
