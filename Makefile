# The only door. Long recipes live in tools/.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
# `make model=NAME` alone builds that model; plain `make` prints the help.
.DEFAULT_GOAL := $(if $(filter command,$(firstword $(origin model))),model,help)

model ?= smollm2
prompt ?= What is the capital of France?
args ?=
name ?= $(model)-int4
export prompt onnx dims precision kv activations pool profile plot bandwidth

.PHONY: help setup model run quantize test check snap bench verify device loc

help: ## this list
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
	@echo '  make model=NAME  compile models/NAME and build bin/NAME'
	@echo '     onnx=PATH       a folder or file of your own instead of the prepared source'
	@echo '     dims=a=1,b=2    compile the graph as it stands, at these dimensions'
	@echo '     precision=fp32  kv=int8, activations=fp16 instead of what the manifest says; profile=release for speed; pool=beside for two files'

setup: ## install or fetch what is missing: system packages, shaderc, Python packages, crates
	@tools/setup.sh

model: setup
	@tools/model.sh $(model)

run: model ## build the default model (or model=NAME) and answer prompt="…"
	@bin/$(model) "$$prompt" $(args)

quantize: setup ## model=NAME as compiled, with weights of few bits: bin/name=NAME-int4 (args="--group 32 …")
	@from=$(model) tools/model.sh $(name) $(args)

test: setup ## format, lints, every test, end to end
	@tools/test.sh

check: ## format and lints only
	@tools/check.sh

snap: ## run the snapshot tests and accept what changed; git diff shows it
	@tools/snap.sh

bench: model ## speed of model=NAME (args="…" for bin/NAME bench; plot=1: a roofline picture, bandwidth=GB/s its roof)
	@tools/bench.sh $(model) $(args)

verify: model ## compare model=NAME with its golden file
	@bin/$(model) verify --lengths $(args)

device: model ## on a real GPU: devices found, verify, bench of model=NAME
	@bin/$(model) --list-devices
	@bin/$(model) verify --lengths $(args)
	@bin/$(model) bench $(args)

loc: ## hand-written files and functions that have grown too long
	@python3 tools/loc.py
