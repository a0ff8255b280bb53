# The three commands of a fresh machine, and what they share. Each does all that it needs and skips what is done.
#
#   LONGREACH_CUDA=ON|OFF     the CUDA plugin too; default: ON where nvidia-smi answers
#   LONGREACH_TRAINER=OFF     scheduler, store and client only, without LibTorch
#   LONGREACH_LIBTORCH=DIR    a LibTorch of your own instead of the wheel's
#   JOBS=N                    compile and test N at a time; default: one for each processor
SHELL := /bin/bash
.DEFAULT_GOAL := help

LONGREACH_TRAINER ?= ON
ifndef LONGREACH_CUDA
  LONGREACH_CUDA := $(shell nvidia-smi -L >/dev/null 2>&1 && echo ON || echo OFF)
endif
JOBS ?= $(shell nproc)
export LONGREACH_CUDA LONGREACH_TRAINER LONGREACH_LIBTORCH JOBS

BUILD := build/release
QUICKSTART := build/quickstart/quickstart.db
CONFIGURE = cmake --preset release -DLONGREACH_CUDA=$(LONGREACH_CUDA) -DLONGREACH_TRAINER=$(LONGREACH_TRAINER) \
  -DLONGREACH_LIBTORCH=$(abspath $(LONGREACH_LIBTORCH))

.PHONY: help setup setup-tests setup-faults build bundle deb wheel quickstart test sanitize faults bench-scheduler bench-trainer clean

help:  ## Print this.
	@echo "usage: make TARGET [LONGREACH_CUDA=ON|OFF] [LONGREACH_TRAINER=OFF] [LONGREACH_LIBTORCH=DIR] [JOBS=N]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup:  ## Install what the build needs: Debian packages, and LibTorch into .venv.
	@deploy/setup.sh

setup-tests:
	@deploy/setup.sh --tests

setup-faults:
	@deploy/setup.sh --tests --faults

build: setup  ## Set up, then build everything into build/release.
	@echo "build: everything, $(JOBS) at a time"
	@$(CONFIGURE)
	@deploy/build.sh $(BUILD)

bundle: build  ## Build, then put all into build/bundle that a machine needs where nothing can be installed but torch.
	@deploy/bundle.sh $(BUILD)

deb: build  ## Build, then make Debian packages of the programs in build/debian.
	@deploy/deb.sh $(BUILD)

wheel:  ## Make the wheel of the Python package in build/python; needs none of the rest.
	@deploy/wheel.sh

quickstart: setup  ## Set up, build the programs, run the quickstart sweep and print its table.
	@test $(LONGREACH_TRAINER) = ON || { echo "quickstart needs the trainer: LONGREACH_TRAINER must be ON"; exit 2; }
	@echo "build: longreach, longreach-scheduler and longreach-worker, $(JOBS) at a time"
	@$(CONFIGURE)
	@deploy/build.sh $(BUILD) bin/longreach bin/longreach-scheduler bin/longreach-worker
	@mkdir -p $(dir $(QUICKSTART))
	@echo "quickstart: the store is $(QUICKSTART). Ctrl-C keeps all; 'make quickstart' goes on from there."
	@$(BUILD)/bin/longreach run quickstart --store $(QUICKSTART)

test: setup-tests  ## Set up, build everything, run all tests, and those without LibTorch under ASan and UBSan.
	@echo "build: everything, $(JOBS) at a time"
	@$(CONFIGURE)
	@deploy/build.sh $(BUILD)
	@echo "build: all that is without LibTorch, with the address and the undefined-behaviour sanitizer"
	@cmake --preset asan
	@deploy/build.sh build/asan
	@echo "test: ctest, $$(($(JOBS) + 2)) at a time, as half of the time of end-to-end tests is waiting"
	@ctest --preset release -j$$(($(JOBS) + 2))
	@echo "test: ctest under the sanitizers, $$(($(JOBS) + 1)) at a time, as some wait too"
	@ctest --preset asan -j$$(($(JOBS) + 1))

sanitize: setup-tests  ## All tests under ASan and UBSan, with LibTorch too, and without it under TSan.
	@echo "sanitize: the worker, for tests of its agent"
	@$(CONFIGURE)
	@test $(LONGREACH_TRAINER) != ON || deploy/build.sh $(BUILD) bin/longreach-worker
	@for preset in asan tsan $(if $(filter ON,$(LONGREACH_TRAINER)),asan-trainer); do \
	  echo "sanitize: $$preset, $(JOBS) at a time"; \
	  cmake --preset $$preset && deploy/build.sh build/$$preset && ctest --preset $$preset -j$(JOBS) || exit 1; \
	done

FAULTS ?= full
faults: setup-faults  ## Set up, build, run the fault tests; FAULTS=short|full|long (minutes, an hour, a day).
	@echo "build: everything, $(JOBS) at a time"
	@$(CONFIGURE)
	@deploy/build.sh $(BUILD)
	@for folder in asan:all $(if $(filter-out short,$(FAULTS)),tsan:all fuzz:tests/fuzz/all); do \
	  echo "build: $$folder, $(JOBS) at a time"; \
	  cmake --preset $${folder%%:*} && deploy/build.sh build/$${folder%%:*} $${folder#*:} || exit 1; \
	done
	@FAULTS=$(FAULTS) LONGREACH_BIN=$(abspath $(BUILD)/bin) .venv/bin/python -B -m pytest -v -n 2 --dist worksteal tests/faults

BENCH ?= full
bench-scheduler: setup-tests  ## Set up, build, measure the scheduler (half an hour); BENCH=short for a look.
	@echo "build: the programs, $(JOBS) at a time"
	@$(CONFIGURE)
	@deploy/build.sh $(BUILD) bin/longreach bin/longreach-scheduler bin/fake-workers bin/bench-limits \
	  $(if $(filter ON,$(LONGREACH_TRAINER)),bin/longreach-worker)
	@LONGREACH_BIN=$(abspath $(BUILD)/bin) .venv/bin/python -B tests/bench/scheduler.py --form $(BENCH) --json build/bench/scheduler.json

# What is measured in full is kept with the page.
bench-trainer: setup-tests  ## Set up, build, measure the trainer; REFERENCE=DIR JAX=DIR for JAX beside it, ONLY=.. for some cells.
	@test $(LONGREACH_TRAINER) = ON || { echo "bench-trainer needs the trainer: LONGREACH_TRAINER must be ON"; exit 2; }
	@echo "build: the programs, $(JOBS) at a time"
	@$(CONFIGURE)
	@deploy/build.sh $(BUILD) bin/longreach bin/longreach-scheduler bin/longreach-worker
	@LONGREACH_BIN=$(abspath $(BUILD)/bin) .venv/bin/python -B tests/bench/trainer.py --form $(BENCH) \
	  $(if $(REFERENCE),--reference $(REFERENCE)) $(if $(JAX),--jax $(JAX)) $(if $(ONLY),--only '$(ONLY)') \
	  $(if $(filter full,$(BENCH)),--json docs/benchmarks/trainer.json --page docs/benchmarks/trainer.md,--json build/bench/trainer.json)

clean:  ## Remove the build folder, and with it the quickstart's store. LibTorch in .venv stays.
	rm -rf build
