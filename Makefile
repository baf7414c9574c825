# Two commands do everything on a fresh machine: `make report` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
PYTHON ?= python3
WORKLOAD ?= weight_view
TARGET ?= cpu
SHAPE ?=
COMPILER ?=
PORT ?= 3000
export SYSTEM_PACKAGES ?= 1

BIN := .venv/bin
RUN := $(BIN)/tensor-assets

.PHONY: help report test check doctor engines environment profilers ui lock clean format matrix-cpu original-cpu sm_90 adversary releases-real on-device

help:
	@grep -E '^[a-z0-9_-]+:.*#' $(MAKEFILE_LIST) | sed -E 's/:.*#/\t/' | expand -t 16

report: ; @.ci/setup runtime && $(RUN) report $(foreach w,$(WORKLOAD),--workload $(w)) --target $(TARGET) $(if $(SHAPE),--shape $(SHAPE)) $(foreach c,$(COMPILER),--compiler $(c)) # materialize WORKLOAD (default weight_view) for every compiler, build the site
test: ; @.ci/setup test && $(if $(PYTEST),$(BIN)/python -m pytest $(PYTEST),.ci/test all) # set up what the tests need, run them all
check: ; @.ci/setup test && .ci/check # lint, format, types, fast tests
doctor: ; @.ci/setup runtime && $(RUN) doctor # what is wrong with this deployment, and what mends it
engines: ; @.ci/setup engines # .venv with the launchers for Ray, Kubernetes and Docker
environment: ; @.ci/setup runtime && $(RUN) environment $(COMPILER) # build compilers' environments ahead (COMPILER, default all)
profilers: ; @.ci/setup profilers # CUPTI for Python and the disassemblers, on a GPU host
ui: ; @.ci/setup runtime && $(RUN) ui --port $(PORT) # Dagster's UI on 127.0.0.1:PORT with the same assets
format: ; @.ci/setup test && $(BIN)/ruff format . && $(BIN)/ruff check --fix . # rewrite sources to the house style
lock: ; @.ci/setup test && .ci/lock # regenerate every hash-pinned lock from its .in
matrix-cpu: ; @.ci/setup runtime && $(RUN) report --suite matrix --shape matrix --target cpu # the ten matrix workloads on every CPU compiler
original-cpu: ; @.ci/setup runtime && $(RUN) report --suite matrix --suite original --shape inspect --target cpu --no-timing # all twenty workloads at inspection size, captured and judged
sm_90: ; @.ci/setup runtime && $(RUN) report --suite matrix --target sm_90 # compiled for sm_90 without a GPU, never run
adversary: ; @.ci/setup test && $(BIN)/python -m tensor_assets_tests.adversary.table --seeds 50 # every wrong and right compiler on every workload, fifty seeds: the table
releases-real: ; @.ci/setup test && $(BIN)/python -m tensor_assets_tests.releases.real $(or $(FOLDER),.store-releases) # two real compiler updates, from an index folder to the page of changes
on-device: ; @.ci/setup test && $(BIN)/python -m tensor_assets_tests.launchers.on_device $(or $(FOLDER),.store-on-device) # a real Dagster instance on this host's GPU: what its policy refuses, and weight_view on one allocation
clean: ; rm -rf .venv site/build site/build.generated # what can be made again; evidence in .store stays
