# Everything that people and CI do with this tree. `make` alone lists it.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

# What bash's time prints: `time` stands before each recipe that takes long.
export TIMEFORMAT = make $@: %0lR wall, %0lU + %0lS processor

BIN  := $(CURDIR)/bin
GO   ?= go
HOST := $(shell $(GO) env GOOS)-$(shell $(GO) env GOARCH)

# The same for programs, tests and lint in any folder, so that each package is compiled once; without debug information,
# with the Daytona emulator, without the codec of MessagePack in Gin. A release names its own tags.
export CGO_ENABLED := 0
export GOFLAGS     ?= -trimpath -ldflags=-w -tags=emulator,nomsgpack

# Tools, each with the version that this tree is checked with.
TEMPORAL_VERSION      := v1.5.1
GOLANGCI_LINT_VERSION := v2.15.0
WORKFLOWCHECK_VERSION := v0.6.0
SQLC_VERSION          := v1.31.1
FREEZE_VERSION        := v0.2.2
OAPI_CODEGEN_VERSION  := v2.8.2
OPENAPI_PYTHON_CLIENT := openapi-python-client==0.29.1

TEMPORAL_MODULE      := github.com/temporalio/cli
TEMPORAL_PACKAGE     := $(TEMPORAL_MODULE)/cmd/temporal
GOLANGCI_LINT_MODULE := github.com/golangci/golangci-lint/v2
GOLANGCI_LINT_PACKAGE := $(GOLANGCI_LINT_MODULE)/cmd/golangci-lint
WORKFLOWCHECK_MODULE  := go.temporal.io/sdk/contrib/tools/workflowcheck
WORKFLOWCHECK_PACKAGE := $(WORKFLOWCHECK_MODULE)
SQLC_MODULE  := github.com/sqlc-dev/sqlc
SQLC_PACKAGE := $(SQLC_MODULE)/cmd/sqlc
FREEZE_MODULE := github.com/charmbracelet/freeze
OAPI_CODEGEN_MODULE  := github.com/oapi-codegen/oapi-codegen/v2
OAPI_CODEGEN_PACKAGE := $(OAPI_CODEGEN_MODULE)/cmd/oapi-codegen

# two at once, unless whoever called make has said how many already
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j2)

BUILD_FLAGS := -ldflags '-s -w'
TEST_FLAGS  ?= -count=1 -timeout 60m -vet=off # make lint runs go vet, and more
PACKAGES    ?= ./...
# make quick: all packages but those whose tests start servers, sandboxes or many processes of git; it lints what differs from QUICK_BASE.
QUICK_PACKAGES ?= $(shell $(GO) list ./... | grep -vE '/omoi/(api|cmd/omoi-agent|internal/(agent/(claude|salvage|track)|app|bench|conductor|devstack|e2e|guardian|ingest|postgres|sandbox/.*|scm/.*|temporal|testkit/(api|daytona|postgres)|tools/schemadoc))$$')
QUICK_BASE     ?= $(shell git merge-base HEAD @{upstream} 2>/dev/null || echo HEAD)
# Packages that use package explain and are not among RACE_PACKAGES, which make race runs with codes as well.
CODES_PACKAGES ?= ./internal/cli/... ./internal/supervise/...
# Packages with goroutines of their own; the race detector is too slow for the rest.
RACE_PACKAGES ?= ./api ./workflows ./internal/postgres ./activities ./internal/temporal ./internal/agent/... ./worker \
	./internal/ingest ./internal/live ./internal/task ./internal/contract ./config ./api/client
# Packages with fuzz targets, and for how long each target looks.
FUZZ_PACKAGES ?= $(shell grep -rl '^func Fuzz' --include='*_test.go' . | xargs -n 1 dirname | sort -u)
FUZZTIME      ?= 10s
GENERATED := docs/CONFIGURATION.md docs/METRICS.md docs/SCHEMA.md docs/COMMANDS.md docs/EVENTS.md docs/CODING-AGENTS-CHECKS.md internal/cli/testdata/help.txt internal/postgres/db api/openapi.json

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## build, start everything, run one real task to its end, say what happened, stop everything; AGENT=codex runs the real Codex
	@$(MAKE) --no-print-directory $(PARALLEL) build temporal
	@$(BIN)/omoi demo $(if $(AGENT),--agent $(AGENT))

# Times and ports differ in each run, so nothing compares the picture.
.PHONY: picture
picture: build temporal freeze ## draw the terminal of make demo, without diffs, as docs/images/demo.svg
	@mkdir -p docs/images; { printf '\033[1m$$ make demo\033[0m\n'; COLUMNS=116 script -qec '$(BIN)/omoi demo' /dev/null </dev/null | tr -d '\r' | \
		sed -n '/one real task/,/demo.*PASS/p' | sed -E '/^  [^ ]/d; /^ {20}/d'; } | $(BIN)/freeze --language ansi --window \
		--padding 16 --font.size 13 --wrap 118 --font.family monospace --font.ligatures=false -o docs/images/demo.svg

.PHONY: dev
dev: ## build, start everything and keep it running until Ctrl-C
	@$(MAKE) --no-print-directory $(PARALLEL) build temporal
	@$(BIN)/omoi dev

.PHONY: build
build: ## build bin/omoi and bin/omoi-agent
	@$(MAKE) --no-print-directory $(PARALLEL) $(BIN)/omoi $(BIN)/omoi-agent

# go build knows best what is out of date, so these always run; nothing changed costs a second.
.PHONY: $(BIN)/omoi $(BIN)/omoi-agent
$(BIN)/omoi:
	@if [ -x $@ ]; then echo "omoi: building bin/omoi"; \
	else echo "omoi: building bin/omoi (this first time a few minutes, since its dependencies are compiled too)"; fi
	@$(GO) build $(BUILD_FLAGS) -o $@ ./cmd/omoi
$(BIN)/omoi-agent:
	@echo "omoi: building bin/omoi-agent, the program that runs inside a sandbox"
	@GOOS=linux $(GO) build $(BUILD_FLAGS) -o $@ ./cmd/omoi-agent

RELEASE_PLATFORMS ?= linux-amd64 linux-arm64 darwin-amd64 darwin-arm64

.PHONY: man
man: ## write dist/man: a man page for each command
	@$(GO) run ./internal/tools/manpages dist/man

.PHONY: release
release: ## make dist/omoi-<os>-<arch>.tar.gz of RELEASE_PLATFORMS with checksums, check them, and run the one of this machine
	@time .ci/release $(RELEASE_PLATFORMS)

# --- tools -------------------------------------------------------------------

# install-tool NAME MODULE PACKAGE VERSION WHY: into bin/, unless that version is there.
define install-tool
	if [ -x $(BIN)/$(1) ] && $(GO) version -m $(BIN)/$(1) | grep -Eq "^\s+mod\s+$(2)\s+$(4)\s"; then exit 0; fi; \
	echo "$(1): building $(4) into bin/ ($(5))"; mkdir -p $(BIN); \
	GOBIN=$(BIN) $(GO) install $(TOOL_FLAGS) -v $(3)@$(4) 2>&1 | awk -v name=$(1) \
		'/ / && !/^go: (downloading|finding|extracting)/ {print; next} {n++; if (n % 200 == 0) {printf "%s: %d packages\n", name, n; fflush()}}'; \
	test -x $(BIN)/$(1); echo "$(1): done"
endef

# The SDK inside the server names its program by the hash of the file, unless a name is set: hashing 230 MB is more than half of
# the processor time of a start.
.PHONY: temporal
temporal: TOOL_FLAGS := -ldflags '-w -X go.temporal.io/sdk/internal.binaryChecksum=$(TEMPORAL_VERSION)'
temporal: ## the Temporal development server: found on PATH, else built into bin/
	@if path=$$(command -v temporal); then echo "temporal: using $$path"; exit 0; fi; \
	$(call install-tool,temporal,$(TEMPORAL_MODULE),$(TEMPORAL_PACKAGE),$(TEMPORAL_VERSION),the server that makes tasks durable; 2 to 5 minutes$(,) once)
, := ,

.PHONY: golangci-lint workflowcheck sqlc freeze oapi-codegen
golangci-lint:
	@$(call install-tool,golangci-lint,$(GOLANGCI_LINT_MODULE),$(GOLANGCI_LINT_PACKAGE),$(GOLANGCI_LINT_VERSION),checks style and who may import whom)
workflowcheck:
	@$(call install-tool,workflowcheck,$(WORKFLOWCHECK_MODULE),$(WORKFLOWCHECK_PACKAGE),$(WORKFLOWCHECK_VERSION),checks that workflows are deterministic)
sqlc:
	@$(call install-tool,sqlc,$(SQLC_MODULE),$(SQLC_PACKAGE),$(SQLC_VERSION),turns SQL into Go)
freeze:
	@$(call install-tool,freeze,$(FREEZE_MODULE),$(FREEZE_MODULE),$(FREEZE_VERSION),draws terminal output as SVG)
oapi-codegen:
	@$(call install-tool,oapi-codegen,$(OAPI_CODEGEN_MODULE),$(OAPI_CODEGEN_PACKAGE),$(OAPI_CODEGEN_VERSION),generates a client in Go)

# --- tests -------------------------------------------------------------------

# run-tests FLAGS PACKAGES: says what failed, and runs a few that failed once more by themselves.
define run-tests
	{ .ci/in-memory $(GO) test -json $(TEST_FLAGS) $(1) $(2) || echo '{"Action":"exit"}'; } | \
		$(GO) run ./internal/tools/testreport .ci/in-memory $(GO) test -json $(TEST_FLAGS) $(1)
endef

.PHONY: test
test: build temporal ## run the tests of all packages, the longest first; says what was skipped and why
	@time $(call run-tests,,$(PACKAGES:./...=./internal/e2e ./workflows ./...))

.PHONY: quick
quick: TEST_FLAGS := -timeout 10m
quick: golangci-lint ## in under a minute: build, lint what changed, test what needs no server and has changed
	@time { $(GO) build $(PACKAGES); \
	changed=$$({ git diff --name-only --diff-filter=d $(QUICK_BASE) -- '*.go'; git ls-files -o --exclude-standard -- '*.go'; } | xargs -r dirname | sort -u | sed 's|^|./|'); \
	[ -z "$$changed" ] || $(BIN)/golangci-lint run $$changed; \
	$(call run-tests,-short -skip '^TestOnServer',$(QUICK_PACKAGES)); }

# Targets that change no file of the tree that another one reads, and wait for most of their time; the longest first.
TEST_ALL_BESIDE := clients-test ui-test user-test race sticky-off codes claude-test agents-test openhands-test fuzz release replay compose-check
.PHONY: test-all
test-all: verify lint test ## test, and what needs system packages or more time, two targets at once
	@$(MAKE) --no-print-directory -j2 --output-sync=target $(TEST_ALL_BESIDE) RELEASE_PLATFORMS=$(HOST) AGENTS="codex gemini"
	@echo "test-all: everything passed"

.PHONY: codes
codes: ## run unit tests with codes instead of sentences: no decision depends on a sentence
	@time $(call run-tests,-short -tags codes_only -skip '^TestOnServer',$(CODES_PACKAGES))

# --- the page ----------------------------------------------------------------

.PHONY: typescript-client page-packages
typescript-client:
	@cd web/client && npm ci --no-audit --no-fund --silent && npm run --silent build
page-packages: typescript-client
	@cd web/page && npm ci --no-audit --no-fund --silent

.PHONY: ui
ui: page-packages ## build the web page from web/page into api/ui/dist; needs Node 20.19 or later
	@cd web/page && npm run --silent build

.PHONY: ui-test
ui-test: build temporal page-packages ## check that api/ui/dist is what web/page gives, and test the page in Chromium against the real programs
	@cd web/page && npm run --silent check && npm test --silent
	@built=$$(mktemp -d); trap 'rm -rf "$$built"' EXIT; cd web/page && npx vite build --logLevel warn --outDir "$$built" && \
	{ diff -r "$$built" ../../api/ui/dist || { echo "ui-test: api/ui/dist is out of date. Next: make ui, and commit it"; exit 1; }; }
	@command -v chromium chromium-browser google-chrome >/dev/null || { echo "ui-test: SKIPPED the tests in a browser, no Chromium is here"; exit 0; }; \
	cd web/page && time ../../.ci/in-memory npm run --silent test:browser

.PHONY: ui-picture
ui-picture: build temporal page-packages ## take pictures of six pages, light and dark, in dist/pictures, and those of README.md in docs/images
	@cd web/page && OMOI_PICTURES="$(CURDIR)/dist/pictures" npm run --silent test:browser -- e2e/picture.test.ts
	@cp dist/pictures/page-*.png dist/pictures/review-*.png docs/images/

.PHONY: bench-ui
bench-ui: build temporal page-packages ## measure the budgets of the page in Chromium, and write docs/BENCHMARKS-PAGE.md
	@cd web/page && OMOI_BENCH_OUT="$(CURDIR)/docs/BENCHMARKS-PAGE.md" npm run --silent test:browser -- e2e/bench.test.ts

.PHONY: clients-test
clients-test: build temporal oapi-codegen typescript-client ## generate clients in TypeScript, Go and Python, and run a task by each; asks npm, pip and the Go proxy
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; python3 -m venv "$$tools"; "$$tools/bin/pip" install -q $(OPENAPI_PYTHON_CLIENT); \
	ln -s $(BIN)/oapi-codegen "$$tools/bin/"; OMOI_TEST_GENERATORS="$$tools/bin" .ci/in-memory $(GO) test -count=1 -timeout 20m -run '^TestClients_' ./internal/e2e

.PHONY: user-test
user-test: build temporal ## as root: run the tests that care also as an ordinary user
	@time .ci/in-memory .ci/user-test

.PHONY: race
race: ## run the packages with goroutines under the race detector, with codes instead of sentences
	@export CGO_ENABLED=1; time $(call run-tests,-race -short -timeout 60m -tags codes_only$(,)emulator$(,)nomsgpack,$(RACE_PACKAGES))

.PHONY: fuzz
fuzz: ## send random events, batches, messages and frames; FUZZTIME=10m looks longer
	@time .ci/fuzz $(FUZZTIME) $(FUZZ_PACKAGES)

.PHONY: replay
replay: ## replay the recorded histories; the broken ones must fail
	@time { $(GO) test -json -count=1 -run Replay ./workflows | $(GO) run ./internal/tools/testreport; }

.PHONY: sticky-off
sticky-off: temporal ## play every path on a real server, each workflow task from the first event
	@export OMOI_STICKY_CACHE=off; time $(call run-tests,-run '^TestOnServer$$',./workflows)

.PHONY: record
record: temporal ## record all workflow histories anew, frozen ones too, against a real server
	@OMOI_RECORD=1 $(GO) test -count=1 -timeout 20m -run '^TestOnServer$$' -v ./workflows

.PHONY: e2e
e2e: build temporal ## run only the end-to-end tests against the real programs
	@time $(call run-tests,,./internal/e2e/...)

.PHONY: claude-test
claude-test: build temporal ## run the real Claude Code, both pinned versions, against a scripted model; asks npm for it, once
	@export OMOI_CLAUDE_TEST=1; time $(call run-tests,-run '^TestClaude',./cmd/omoi-agent ./internal/e2e)

AGENTS ?= codex gemini opencode qwen copilot
.PHONY: agents-test
agents-test: build temporal ## compare the real programs of AGENTS="codex gemini", with a scripted model, with their record; asks npm for each, once
	@seen=$$(mktemp); trap 'sort "$$seen"; rm "$$seen"' EXIT; export OMOI_AGENTS_TEST="$(AGENTS)" OMOI_AGENTS_OUT="$$seen"; \
	time $(call run-tests,-parallel 2 -run '^Test(CodingAgents|Real)$$',./internal/e2e ./internal/agent/acp)

# Some programs repeat a request for minutes: checks that took over a minute are run by this target only.
.PHONY: agents-table
agents-table: ## run agents-test with all checks, and write the record and the table of docs/CODING-AGENTS-CHECKS.md
	@OMOI_AGENTS_RECORD="$(CURDIR)/internal/testkit/codingagents/record.json" $(MAKE) --no-print-directory agents-test AGENTS="$(AGENTS)"
	@OMOI_TEST_UPDATE=1 $(GO) test -count=1 ./internal/testkit/codingagents -run TestDocumentationIsCurrent >/dev/null

.PHONY: openhands-test
openhands-test: build temporal ## run the real OpenHands agent server, with a scripted model; asks pip for it, once: Python 3.12, tmux
	@export OMOI_OPENHANDS_TEST=1 OMOI_AGENTS_TEST=openhands; \
	time $(call run-tests,-run '^Test(Server|Bridge|Conformance|CodingAgents$$)',./internal/openhands/... ./internal/sandbox/openhands ./internal/e2e)

.PHONY: gapless
gapless: build temporal ## prove at full size that no event is lost or doubled; OMOI_GAPLESS_SEED=n repeats a run
	@OMOI_GAPLESS=full $(GO) test -count=1 -timeout 40m -run '^TestGapless$$' -v ./internal/e2e

.PHONY: drill
drill: build temporal ## inject 300 faults at each provider, and write docs/FAILURES.md; OMOI_DRILL_SEED=n repeats a run
	@OMOI_DRILL="$${OMOI_DRILL:-300}" OMOI_DRILL_OUT="$(CURDIR)/docs/FAILURES.md" .ci/in-memory $(GO) test -count=1 -timeout 3h -parallel 6 -run '^TestLeakDrill$$' -v ./internal/e2e

.PHONY: crowd
crowd: build temporal ## submit 200 tasks at once on a busy machine, and write docs/CROWD.md; OMOI_CROWD=n submits n
	@OMOI_CROWD="$${OMOI_CROWD:-200}" OMOI_CROWD_OUT="$(CURDIR)/docs/CROWD.md" $(GO) test -count=1 -timeout 2h -run '^TestCrowd$$' -v ./internal/e2e

.PHONY: soak
soak: build temporal ## submit 450 tasks, one every 4 s, see what levels off, and write docs/SOAK.md; OMOI_SOAK=n submits n
	@OMOI_SOAK="$${OMOI_SOAK:-450}" OMOI_SOAK_OUT="$(CURDIR)/docs/SOAK.md" $(GO) test -count=1 -timeout 3h -run '^TestSoak$$' -v ./internal/e2e

.PHONY: bench
bench: build temporal ## measure what docs/BENCHMARKS.md promises, side by side in one run
	@$(GO) run ./internal/tools/bench -bin $(BIN) -root $(CURDIR) -out docs/BENCHMARKS.md -version "$$(git describe --always --dirty 2>/dev/null || echo an unnamed version)" $(BENCH_FLAGS)

.PHONY: corpus
corpus: build ## run the guardian's scenarios at a running omoi (OMOI_TEST_AGENT_HEARTBEAT_INTERVAL=250ms omoi dev), and record what their agents do
	@$(GO) run ./internal/tools/corpus $(CORPUS_FLAGS)

# --- checks ------------------------------------------------------------------

.PHONY: lint
lint: golangci-lint workflowcheck ## style, import rules, determinism of workflows
	@time { $(BIN)/golangci-lint run $(PACKAGES); $(BIN)/workflowcheck ./workflows/...; }

.PHONY: size
size: ## count hand-written lines by folder and kind, lines over 120 columns, longest files and functions
	@$(GO) run ./internal/tools/size

.PHONY: generate
generate: sqlc ## make generated files anew
	@$(BIN)/sqlc generate
	@OMOI_TEST_UPDATE=1 $(GO) test -count=1 ./config -run TestDocumentationIsCurrent >/dev/null
	@OMOI_TEST_UPDATE=1 $(GO) test -count=1 ./internal/metrics -run TestDocumentationIsCurrent >/dev/null
	@OMOI_TEST_UPDATE=1 $(GO) test -count=1 ./internal/task -run TestDocumentationIsCurrent >/dev/null
	@OMOI_TEST_UPDATE=1 $(GO) test -count=1 ./internal/event/catalog -run TestDocumentationIsCurrent >/dev/null
	@OMOI_TEST_UPDATE=1 $(GO) test -count=1 ./internal/tools/schemadoc >/dev/null
	@OMOI_TEST_UPDATE=1 $(GO) test -count=1 ./internal/cli -run TestDocumentationIsCurrent >/dev/null
	@OMOI_TEST_UPDATE=1 $(GO) test -count=1 ./internal/testkit/codingagents -run TestDocumentationIsCurrent >/dev/null
	@$(GO) test -count=1 ./api -run '^TestOpenAPIDocumentIsCurrent$$' -update >/dev/null

.PHONY: verify
verify: sqlc ## fail if a generated file is not what the sources give
	@time { before=$$(mktemp -d); trap 'rm -rf "$$before"' EXIT; \
	cp -R --parents $(GENERATED) "$$before"; $(MAKE) --no-print-directory generate; \
	for path in $(GENERATED); do diff -r "$$before/$$path" "$$path" || { echo "verify: $$path was out of date; it is not any more, commit it"; exit 1; }; done; \
	echo "verify: generated files are current"; }

.PHONY: compose-check
compose-check: ## check docker-compose.temporal.yml
	@if command -v docker-compose >/dev/null; then docker-compose -f docker-compose.temporal.yml config -q; \
	elif docker compose version >/dev/null 2>&1; then docker compose -f docker-compose.temporal.yml config -q; \
	else echo "compose-check: SKIPPED, neither docker-compose nor docker compose is here"; fi

.PHONY: clean
clean: ## remove what was built; bin/temporal and other tools stay
	@rm -rf $(BIN)/omoi $(BIN)/omoi-agent $(BIN)/usertest dist internal/app/agents/omoi-agent-*
