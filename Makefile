# The two commands of the README, and the steps they are made of. CMake does the work.
BUILD := build
JOBS ?= $(shell nproc)
export CCACHE_SLOPPINESS := pch_defines,time_macros
export CCACHE_DIR ?= $(CURDIR)/.ccache

.PHONY: demo test test-long build configure setup format clean

demo: setup configure
	@echo "== building the compiler, the emulator and monorun"
	@cmake --build $(BUILD) --target monoc monorun -j $(JOBS)
	@echo "== compiling models/glm5/layer.mlir, a whole GLM-5 layer, for 4 tokens on 8 ranks"
	@$(BUILD)/bin/monoc models/glm5/layer.mlir -D S=4 -D TP=8 --report
	@echo "== running it on 8 emulated MI355X at full size against golden vectors (a minute or two)"
	@$(BUILD)/bin/monorun models/glm5/layer.mlir --case=test/data/glm5_full_s4.safetensors

test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) -LE long

# One after the other: a layer of full size takes 10 GB.
test-long: build
	@ctest --test-dir $(BUILD) --output-on-failure -j 1 -L long

build: setup configure
	@cmake --build $(BUILD) -j $(JOBS)

configure: setup
	@test -f $(BUILD)/build.ninja || \
	  { echo "== configuring"; cmake --preset release -B $(BUILD) > $(BUILD).log 2>&1 || \
	    { cat $(BUILD).log; exit 1; }; rm -f $(BUILD).log; }

setup:
	@third_party/setup.sh

format:
	@git ls-files '*.h' '*.cpp' | xargs clang-format-22 -i

clean:
	@rm -rf $(BUILD)
