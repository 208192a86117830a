# `make demo` and `make test` work from a fresh clone with Python, make and a C++ compiler.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/pip --disable-pip-version-check
SOURCES := pyproject.toml CMakeLists.txt $(shell find src native -type f -not -name '*.pyc')

.PHONY: help demo test test-matrix test-aarch64 test-cross test-cuda test-engines lint format bench bench-full bench-gpu \
  cuda-tools sanitize sanitize-cuda docs wheels sbom \
  release-check constraints soak fuzz test-kills clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      train a model on data that needs no download, and show its rules"
	@echo "make test      lint, types, doctests and all tests"
	@echo "make test-matrix  the tests on the oldest and newest versions of Python and libraries"
	@echo "make test-aarch64  the core on aarch64, emulated, beside this processor"
	@echo "make test-cross  the core compiled and linked for Windows and macOS, by zig"
	@echo "make lint      ruff, clang-format, mypy"
	@echo "make format    rewrite the sources as lint wants them"
	@echo "make bench     cotm beside its peers on small slices, with plots, in two minutes"
	@echo "make bench-full  all benchmarks on all data: hours"
	@echo "make bench-gpu  the CUDA backend, its floor, and where it overtakes the processors"
	@echo "make test-cuda  the tests of the CUDA backend, and those of behaviour on it"
	@echo "make sanitize  the native tests under the address, undefined-behaviour and thread sanitizers"
	@echo "make sanitize-cuda  some CUDA tests under NVIDIA's memcheck and racecheck"
	@echo "make test-engines  the examples on Ray and Spark, which it installs"
	@echo "make soak      ten minutes of load on a server, with reloads and killed workers"
	@echo "make fuzz      inputs that nobody would write, for FUZZ_SECONDS, of all kinds or FUZZ_TARGETS"
	@echo "make test-kills  a hundred killed trainings, which come to the same models"
	@echo "make docs      the site of documents, tutorials, pictures and reference, in build/docs/html"
	@echo "make wheels    the sdist, and wheels for this kind of Linux, installed and tried; in dist/"
	@echo "make sbom      a bill of materials of what is installed, in dist/"
	@echo "make release-check  all that can be tried of a release before it is one"
	@echo "make constraints  the versions that the workflows of .github test with, anew"
	@echo "make clean     remove everything that was built"

# Says what is missing before anything fails in an obscure way.
.PHONY: tools
tools:
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) is missing: install Python 3.10 or newer, or call make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "error: $$($(PYTHON) --version) is too old: cotm needs Python 3.10 or newer; call make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "error: $(PYTHON) cannot make virtual environments: install its venv module (python3-venv on Debian)"; exit 1; }
	@command -v $${CXX:-g++} >/dev/null || command -v c++ >/dev/null || { echo "error: no C++ compiler found: install g++ 11 or newer (build-essential on Debian)"; exit 1; }

$(VENV)/bin/python: | tools
	$(PYTHON) -m venv $(VENV)

# The build knows which of CMake and ninja the machine lacks. They stay in $(VENV), as does the
# build folder, so that a rebuild compiles only what changed.
$(VENV)/.builder: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --quiet scikit-build-core nanobind
	@lacking=$$($(VENV)/bin/python -c \
	  "from scikit_build_core.build import get_requires_for_build_wheel as f; print(*f())") && \
	  { test -z "$$lacking" || $(PIP) install --quiet $$lacking; }
	@touch $@

# The package as users get it. Modules are compiled when first imported: few of them ever are.
$(VENV)/.installed: $(SOURCES) $(VENV)/.builder
	@echo "building and installing cotm ..."
	$(PIP) install --quiet --no-build-isolation --no-compile ".[cli]"
	@touch $@

# All that tests, linters and benchmarks need; it takes the package along.
$(VENV)/.tools: pyproject.toml $(VENV)/.builder
	@echo "building cotm, and installing it with what the tests need ..."
	$(PIP) install --quiet --no-build-isolation ".[test,lint]"
	@touch $(VENV)/.installed $@

# In this order, so that a fresh clone is built once.
DEVELOPMENT := $(VENV)/.tools $(VENV)/.installed
.NOTPARALLEL:

demo: $(VENV)/.installed
	$(VENV)/bin/cotm demo

# Files named conftest.py share a module name, which collecting doctests does not allow.
test: lint
	$(VENV)/bin/pytest -n 2 tests --doctest-modules --ignore-glob="*/conftest.py" --ignore-glob="*/backends/cuda/backend.py" --ignore-glob="*/backends/cuda/device.py" --ignore-glob="*/backends/cuda/batches.py" $$($(VENV)/bin/python -c "import cotm; print(cotm.__path__[0])")

# Environments go to build/matrix; other Pythons than those on the path by COTM_PYTHONS.
test-matrix: | $(VENV)/bin/python
	$(VENV)/bin/python tests/matrix.py

# On Debian with qemu-user-static and g++-aarch64-linux-gnu; some minutes.
test-aarch64: $(VENV)/.builder
	$(VENV)/bin/python tests/platforms/aarch64.py --python

# Nothing of it is run: there is no such system here.
test-cross: $(VENV)/.release
	$(VENV)/bin/python tests/platforms/cross.py

lint: $(DEVELOPMENT)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/clang-format --dry-run --Werror native/*.* native/kernels/* src/cotm/backends/cuda/kernels/* benchmarks/*.cpp
	$(VENV)/bin/mypy

format: $(VENV)/.tools
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/clang-format -i native/*.* native/kernels/* src/cotm/backends/cuda/kernels/* benchmarks/*.cpp

# Results and plots go to build/bench; data come from the folder COTM_DATA, or are generated.
bench: $(DEVELOPMENT)
	$(VENV)/bin/python benchmarks/peers.py
	$(VENV)/bin/python benchmarks/plots.py build/bench/short.json --to build/bench

bench-full: $(DEVELOPMENT)
	$(VENV)/bin/python benchmarks/defaults.py
	$(VENV)/bin/python benchmarks/tables.py
	$(VENV)/bin/python benchmarks/draws.py
	$(VENV)/bin/python benchmarks/peers.py --full
	$(VENV)/bin/python benchmarks/plots.py build/bench/full.json --to build/bench

bench-gpu: $(DEVELOPMENT) cuda-tools
	$(VENV)/bin/python benchmarks/gpu.py --check --crossing
	$(VENV)/bin/python benchmarks/plots.py build/bench/gpu.json --to build/bench

# What a user sees of the machine, on CUDA: the tests of behaviour run on COTM_BACKEND.
BEHAVIOUR := tests/test_machine.py tests/test_rules.py tests/backends/test_reference.py \
  $(addprefix tests/estimator/test_,classifier.py continuation.py checkpoint.py volumes.py) \
  tests/files/test_files.py
test-cuda: $(DEVELOPMENT) cuda-tools
	$(VENV)/bin/pytest -n 4 $(addprefix tests/backends/test_,cuda.py cuda_sources.py equality.py)
	COTM_BACKEND=cuda $(VENV)/bin/pytest -n 4 $(BEHAVIOUR)

# Another CuPy than the one of cotm[cuda] can be installed into $(VENV) before.
cuda-tools: | $(VENV)/bin/python
	@$(VENV)/bin/python -c "import cupy" 2>/dev/null || $(PIP) install --quiet "cupy-cuda12x[ctk]>=14"

# The whole extension is built with each kind of sanitizer into a folder of its own, and the tests
# of the native backend run on it, but for those that look at the clock. Python itself is not
# instrumented.
.PHONY: sanitize-address sanitize-thread
sanitize: sanitize-address sanitize-thread

sanitize-address: build/sanitize-address
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$</site COTM_EXPECT_PATH=$</site \
	  $(VENV)/bin/python -m pytest -p no:cacheprovider -k "not about_one_call" \
	  $(addprefix tests/backends/test_,native.py equality.py slices.py failures.py) \
	  $(addprefix tests/,booleanize/test_edges.py booleanize/test_histograms.py \
	    augmentation/test_resampling.py backends/test_sampled_outputs.py \
	    booleanize/test_compiled.py explaining/test_shapley.py \
	    $(addprefix estimator/test_,rows.py editing.py constraints.py))

# A race ends the process. What imports polars is left out, which ends there by itself.
sanitize-thread: build/sanitize-thread
	LD_PRELOAD="$$(g++ -print-file-name=libtsan.so)" TSAN_OPTIONS="halt_on_error=1 exitcode=66" \
	  OPENBLAS_NUM_THREADS=1 PYTHONPATH=$</site COTM_EXPECT_PATH=$</site \
	  $(VENV)/bin/python -m pytest -p no:cacheprovider -k "not turn and not about_one_call" \
	  $(addprefix tests/,estimator/test_concurrency.py backends/test_slices.py \
	    backends/test_sampled_outputs.py booleanize/test_edges.py booleanize/test_histograms.py \
	    explaining/test_shapley.py augmentation/test_resampling.py)

build/sanitize-%: $(SOURCES) $(VENV)/.tools
	$(PIP) install --quiet --no-build-isolation --no-deps --upgrade --target $@/site \
	  -Cbuild-dir=$@/build -Ccmake.define.COTM_SANITIZE=$* -Ccmake.build-type=Debug .
	@touch $@

# Of NVIDIA's compute-sanitizer; racecheck does not know barriers of some of a block's warps.
SANITIZED := tests/backends/test_equality.py -p no:xdist -k "cuda and (10 or 11)"
sanitize-cuda: $(DEVELOPMENT) cuda-tools
	compute-sanitizer --tool memcheck --error-exitcode 1 $(VENV)/bin/python -m pytest $(SANITIZED)
	COTM_CUDA_FLAGS=-DCOTM_RACECHECK compute-sanitizer --tool racecheck --error-exitcode 1 \
	  $(VENV)/bin/python -m pytest $(SANITIZED)

# Ray and Spark, on this computer; Spark needs Java 17. They are large, so only here.
test-engines: $(DEVELOPMENT)
	@$(VENV)/bin/python -c "import ray, pyspark" 2>/dev/null || \
	  $(PIP) install --quiet $$($(VENV)/bin/python packaging/extra.py engines)
	$(VENV)/bin/pytest tests/engines

# Every answer is compared with the model's own. Times mean something on a machine at rest only.
soak: $(DEVELOPMENT)
	$(VENV)/bin/python tests/serving/soak.py 600

# Inputs that crash something are kept in build/fuzz, each with the line that tries it again.
FUZZ_SECONDS ?= 600
FUZZ_SEED ?= 0
fuzz: $(DEVELOPMENT) | $(VENV)/.fuzz
	$(VENV)/bin/python tests/fuzz/run.py $(FUZZ_TARGETS) --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

# It has no wheels for some systems; then nothing is led by coverage.
$(VENV)/.fuzz: | $(VENV)/bin/python
	@$(PIP) install --quiet $$($(VENV)/bin/python packaging/extra.py fuzz) && touch $@ || \
	  echo "atheris cannot be installed here; fuzzing goes on without it"

KILLS ?= 100
test-kills: $(DEVELOPMENT)
	$(VENV)/bin/python tests/faults/kills.py $(KILLS)

$(VENV)/.docs: pyproject.toml $(VENV)/.builder
	$(PIP) install --quiet --no-build-isolation --no-compile ".[docs]"
	@touch $@

# A warning, such as a link that leads nowhere, is an error. Code in the pages is run.
docs: $(VENV)/.docs $(VENV)/.installed
	rm -rf build/docs/html
	$(VENV)/bin/python docs/site/assemble.py
	$(VENV)/bin/python -m sphinx -W --keep-going -q -c docs/site -d build/docs/trees \
	  build/docs/source build/docs/html
	@echo "the site is in build/docs/html/index.html"

# zig's compiler is large, so what makes wheels is installed only here.
$(VENV)/.release: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --quiet $$($(VENV)/bin/python packaging/extra.py release)
	@touch $@

# Pythons are those of COTM_PYTHONS, or python3.10 to python3.14 on the path.
wheels: $(VENV)/.release
	$(VENV)/bin/python packaging/wheels.py
	$(VENV)/bin/python packaging/check.py

sbom: $(VENV)/.release
	$(VENV)/bin/python packaging/sbom.py

release-check: wheels sbom
	$(VENV)/bin/python packaging/release_check.py

constraints: | $(VENV)/bin/python
	$(VENV)/bin/python packaging/constraints.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
