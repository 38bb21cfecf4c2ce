# Every target sets itself up in .venv; nothing is fetched but from the package index (and, for the tests against real
# Kubernetes components, from the Go module proxy). `make help` lists the targets.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-print-directory

# Images for containers set it. Here it would have every process of the tests compile the product and its packages anew, a
# second each.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
# Two stamps: the product with its solver, and what tests and checks need on top of it.
PRODUCT := $(VENV)/.product
STAMP := $(VENV)/.ready
TIMED := @.ci/timed
# auto: as many workers as there are cores, for components two more; WORKERS=0 runs the tests in this process (for a debugger).
WORKERS ?= auto
# Options for pytest, e.g. PYTEST="-k taints".
PYTEST ?=
# What `make testbed` runs.
TESTBED := etcd kube-apiserver kube-scheduler kube-controller-manager kubectl kwok kwok-stages cluster-api cluster-api-manifests
# What `make test-flux` builds.
FLUX := flux-kustomize-controller flux-source-controller flux-manifests
# The newest kube-scheduler, as a program that answers: about seven minutes of processor time, so that CI builds only that of the
# testbed, with whose other components it shares its packages.
NEWEST := oracle-1.37
# What `make test-kueue` builds.
KUEUE := kueue
# Number of random clusters compared with the real kube-scheduler plugins, or of random worlds, and where the random numbers start.
N ?= 1000
SEED ?= 1
# How many lines `make mutants` changes.
MUTANTS ?= 300
# How many random loops `make stress` takes.
LOOPS ?= 100000
# How many minutes `make soak` takes, and how many of them nothing happens.
MINUTES ?= 60
QUIET ?= 20

CANDIDATES := python3.13 python3.12 python3.11 python3.14 python3 python
find_python = for p in $(PYTHON) $(CANDIDATES); do \
	if "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$$p"; exit; fi; done

# The stamp names the checkout that .venv was made in: one that was copied, or whose interpreter is gone, is made anew.
ifneq ($(shell $(BIN)/python -c '' 2>/dev/null && cat $(PRODUCT) 2>/dev/null),$(CURDIR))
.PHONY: $(PRODUCT)
endif

.PHONY: help setup run demo-preview testbed test test-rest test-all components test-flux test-kueue check docs generate lock format bench bench-check bench-live bench-data builds differential mutants mutants-sample soak stress spending worlds clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

setup: $(STAMP) ## Make .venv with everything that the other targets need

$(PRODUCT): pyproject.toml $(wildcard reconciler/scheduling/kernels/*.py)
	@python="$$($(find_python))"; \
	if [ -z "$$python" ]; then \
		echo "error: no Python 3.11 or newer found (looked for: $(PYTHON) $(CANDIDATES))." >&2; \
		echo "Install one (Debian: apt-get install python3 python3-venv), or name it: make PYTHON=/path/to/python3.12" >&2; \
		exit 1; \
	fi; \
	.ci/timed "virtual environment in $(VENV) with $$($$python --version 2>&1)" .ci/venv "$$python" $(VENV)
	$(TIMED) "the product with its solver and compiled kernels, into $(VENV)" $(BIN)/python .ci/install product
	@echo '$(CURDIR)' > $@

$(STAMP): $(PRODUCT)
	$(TIMED) "packages for tests and checks, into $(VENV)" $(BIN)/python .ci/install development
	@echo '$(CURDIR)' > $@

run: $(PRODUCT) ## Show the main job on the example cluster: a plan, the same as markdown, the loop on a simulated cluster
	@sh examples/demo.sh $(BIN)/reconciler

demo-preview: $(PRODUCT) ## Preview a policy change in a throw-away repository, as a pull request would show it
	@sh examples/preview/demo.sh $(BIN)/reconciler

testbed: $(STAMP) ## Start a real control plane with Cluster API, print its KUBECONFIG, and keep it until Ctrl-C
	@$(BIN)/python -m tests.testbed.components $(TESTBED)
	@$(BIN)/python -m tests.testbed

test: $(STAMP) ## Run the quick tests: they build and start nothing, and each takes less than a quarter of a second
	$(TIMED) "quick tests" $(BIN)/python -m pytest -q --tier quick -n $(WORKERS) --max-worker-restart 0 $(PYTEST)
	@$(BIN)/python -m tests.tiers

test-rest: $(STAMP) ## Run what `make test` leaves out; components are built when a test needs them
	$(TIMED) "the other tests" $(BIN)/python -m tests.second_look -q --tier rest -n $(WORKERS) --dist loadgroup $(PYTEST)

test-all: $(STAMP) ## Run all tests at once, and write what each costs into tests/durations.json
	$(TIMED) "the newest kube-scheduler" $(BIN)/python -m tests.testbed.components $(NEWEST)
	$(TIMED) "all tests" $(BIN)/python -m tests.second_look -q --measure -n $(WORKERS) --dist loadgroup $(PYTEST)

components: $(STAMP) ## Build the components that tests need and keep them in the cache; the tests do it when they need them
	$(TIMED) "components for the tests" $(BIN)/python -m tests.testbed.components

test-flux: $(STAMP) ## Run the files for Flux on its own controllers; at first it builds these, several minutes each
	$(TIMED) "components for Flux" $(BIN)/python -m tests.testbed.components $(TESTBED) $(FLUX)
	$(TIMED) "tests" $(BIN)/python -m tests.second_look -q tests/live/test_flux_controllers.py $(PYTEST)

test-kueue: $(STAMP) ## Run the file for Kueue on its own manager; at first it builds that, about 25 minutes of processor time
	$(TIMED) "components for Kueue" $(BIN)/python -m tests.testbed.components $(TESTBED) $(KUEUE)
	$(TIMED) "tests" $(BIN)/python -m tests.second_look -q tests/live/test_kueue.py $(PYTEST)

check: $(STAMP) ## Formatting, lint, types, layers, dependencies, generated files
	@.ci/check $(BIN)

docs: $(STAMP) ## Build the documentation as a static site: build/docs/index.html
	@.ci/timed "documentation in build/docs" $(BIN)/python -m docs.site build/docs

generate: $(STAMP) ## Write every generated file anew: schemas, CRDs, the reference, the packed example; then the sessions in the documentation
	@$(BIN)/python -m docs.generator
	@$(BIN)/python examples/pack.py
	$(TIMED) "sessions in the documentation" $(BIN)/python -m tests.docs.refresh
	@git status --short

lock: $(STAMP) ## Write .ci/locks anew: what the image, the action and the release install, by hashes
	@.ci/lock $(BIN)

format: $(STAMP) ## Format and fix what can be fixed
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format .

bench: $(STAMP) ## Print every figure, absolute and as a multiple of the yardstick
	@$(BIN)/python -m tests.benchmarks.harness

bench-check: $(STAMP) ## Fail where a figure is above 1.5 times the committed multiple
	@$(BIN)/python -m tests.benchmarks.harness --check

bench-live: $(STAMP) ## Measure the live loop on a real control plane: first sync, steady loop, memory, list calls, bursts, a fleet
	$(TIMED) "components for the figures" $(BIN)/python -m tests.testbed.components etcd kube-apiserver kube-scheduler kube-controller-manager kwok kwok-stages cluster-api cluster-api-manifests
	@$(BIN)/python -m tests.benchmarks.live.bench
	@$(BIN)/python -m tests.benchmarks.live.comparison
	@$(BIN)/python -m tests.benchmarks.live.fleet

bench-data: $(STAMP) ## Generate the large inputs
	$(TIMED) "inputs in bench-data" $(BIN)/python examples/make_openb.py --out bench-data/openb

differential: $(STAMP) ## Compare N random clusters with the real kube-scheduler plugins: make differential N=1000 SEED=7
	$(TIMED) "components for the tests" $(BIN)/python -m tests.testbed.components oracle $(NEWEST)
	$(TIMED) "$(N) clusters from seed $(SEED)" $(BIN)/python -m tests.differential.compare --clusters $(N) --seed $(SEED)
	$(TIMED) "the same with the newest" $(BIN)/python -m tests.differential.compare --clusters $(N) --seed $(SEED) --newest
	$(TIMED) "$(N) clusters with pod groups" env RECONCILER_POD_GROUPS=$(N) $(BIN)/python -m pytest -q tests/differential/test_pod_groups.py

builds: $(STAMP) ## Compare N plans of random clusters between the compiled and the interpreted kernels: make builds N=2000 SEED=7
	@$(BIN)/python -m tests.kernels.random_plans --both --count $(N) --first $(SEED)

mutants: $(STAMP) ## Change MUTANTS lines at random, one at a time, and see whether quick tests notice: make mutants MUTANTS=300
	@$(BIN)/python -m tests.mutants.campaign --mutants $(MUTANTS) $(if $(filter command line,$(origin SEED)),--seed $(SEED))

mutants-sample: $(STAMP) ## 60 mutants of one area by chance, for two minutes; fails where chance alone cannot explain what nobody noticed
	@$(BIN)/python -m tests.mutants.campaign --mutants 60 --seconds 120 --sample

soak: $(STAMP) ## Run the loop for MINUTES on a real control plane, QUIET of them without any work: every turn must decide
	$(TIMED) "components for the soak" $(BIN)/python -m tests.testbed.components etcd kube-apiserver kube-scheduler kube-controller-manager kwok kwok-stages cluster-api cluster-api-manifests
	@$(BIN)/python -m tests.live.soak --minutes $(MINUTES) --quiet $(QUIET)

stress: $(STAMP) ## Check rules 1 to 5 over LOOPS random loops: make stress LOOPS=100000 SEED=1 (SEED goes on where one stopped)
	@$(BIN)/python -m tests.properties.stress --loops $(LOOPS) --seed $(SEED)

spending: $(STAMP) ## Check that no limit on money is passed in LOOPS random loops (SEED as above)
	@$(BIN)/python -m tests.properties.spending --loops $(LOOPS) --seed $(SEED)

worlds: $(STAMP) ## Run random worlds of every platform in virtual time: make worlds N=2000 SEED=1; what fails is shortened
	@$(BIN)/python -m tests.virtual --seeds $(N) --first $(SEED) --shrink

clean: ## Remove .venv and everything generated; the cache of built components stays
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache bench-data
	find reconciler tests -name __pycache__ -type d -prune -exec rm -rf {} +
