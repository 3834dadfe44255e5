# servelab. `make demo` and `make test` do everything; `make help` lists the rest.
#
#   MODE=release|asan|tsan   how it is compiled (asan includes UBSan)
#   IMPL=solutions|labs      whose lab files are linked into the system
#   MINE=02|all              the files of that lab, or of all, from labs/, for any IMPL (`make mine LAB=02`)
#   CC=gcc|clang             WERROR=1 turns warnings into errors (CI does)
#   ARCH=native              what -march= gets
#
# A folder of common/ adds to this file only through its own module.mk, and only when a wildcard below is not enough.

MODE ?= release
IMPL ?= solutions
ARCH ?= native
WERROR ?= 0
JOBS ?= $(shell nproc)
MAKEFLAGS += --no-print-directory
# V=1 shows whole commands; otherwise a line says what is made
V ?= 0
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' '$(1)' '$(2)';)
Q = $(if $(filter 1,$(V)),,@)
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

ifeq ($(filter $(MODE),release asan tsan),)
$(error MODE=$(MODE) is unknown; choose release, asan or tsan)
endif
ifeq ($(filter $(IMPL),solutions labs),)
$(error IMPL=$(IMPL) is unknown; choose solutions or labs)
endif

# Each combination has its own object folder; the plain one is the product and its programs are in build/bin.
CONFIG := $(notdir $(firstword $(CC)))-$(MODE)-$(IMPL)
OBJ := build/obj/$(CONFIG)
ifeq ($(origin CC),default)
CC := gcc
CONFIG := gcc-$(MODE)-$(IMPL)
OBJ := build/obj/$(CONFIG)
endif
MINE ?=
BIN := $(if $(MINE),build/mine,$(if $(filter gcc-release-solutions,$(CONFIG)),build/bin,$(OBJ)/bin))

WARN := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
SAN_release := -O3 -march=$(ARCH) -fno-math-errno
SAN_asan := -O1 -march=$(ARCH) -fno-math-errno -fsanitize=address,undefined -fno-sanitize-recover=undefined
SAN_tsan := -O1 -march=$(ARCH) -fno-math-errno -fsanitize=thread
CPPFLAGS += -Icommon -Igrader -D_GNU_SOURCE
CFLAGS += -std=gnu17 -g $(WARN) $(if $(filter 1,$(WERROR)),-Werror) $(SAN_$(MODE)) -MMD -MP -pthread
LDFLAGS += $(filter -fsanitize% -fno-sanitize%,$(SAN_$(MODE))) -pthread
LDLIBS += -lcjson -lmicrohttpd -lcurl -lgnutls -lpcre2-8 -lm -ldl

# ---- what the programs are made of -----------------------------------------------------------------------------------
LAB_DIRS := 01_request_record 02_queue_sim 03_kernels 04_serving
# A lab's files come from $(IMPL), or from labs/ when it is MINE; a lab that has no starter in labs/ yet comes from
# solutions/.
lab_tree = $(if $(filter $(MINE)_% $(MINE:all=%),$(1)),labs,$(IMPL))
lab_sources = $(or $(wildcard $(call lab_tree,$(1))/$(1)/*.c),$(wildcard solutions/$(1)/*.c))
LAB_SRC := $(foreach l,$(LAB_DIRS),$(call lab_sources,$(l)))
COMMON_SRC := $(filter-out common/cli/main.c common/testing/% common/backend/tests/%,$(wildcard common/*/*.c common/backend/*/*.c))
GRADER_SRC := $(wildcard grader/*.c grader/core/*.c)

LIB := $(OBJ)/libservelab$(MINE:%=-mine%).a

-include $(wildcard common/*/module.mk common/backend/*/module.mk grader/module.mk)

LIB_OBJ := $(patsubst %.c,$(OBJ)/%.o,$(COMMON_SRC) $(LAB_SRC) $(GRADER_SRC))
TEST_SRC := $(wildcard common/*/tests/test_*.c common/backend/*/tests/test_*.c grader/tests/test_*.c)
TEST_BIN := $(patsubst %.c,$(OBJ)/%,$(TEST_SRC))
TEST_SCRIPT := $(wildcard common/*/tests/test_*.sh common/*/tests/test_*.py common/backend/*/tests/test_*.sh \
                          common/backend/*/tests/test_*.py grader/tests/test_*.sh grader/tests/test_*.py)
BENCH_BIN := $(patsubst %.c,$(OBJ)/%,$(wildcard common/*/bench/bench_*.c common/backend/*/bench/bench_*.c))
PROGRAMS := $(BIN)/servelab $(EXTRA_PROGRAMS)

build: $(PROGRAMS) ## learner: compile the programs into build/bin

$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc,$<)$(CC) $(CPPFLAGS) $(CFLAGS) $(CFLAGS_$(subst /,_,$*)) -c $< -o $@

$(LIB): $(LIB_OBJ)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BIN)/servelab: $(OBJ)/common/cli/main.o $(LIB)
	@mkdir -p $(@D)
	$(call say,link,$@)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(TEST_BIN): $(OBJ)/%: $(OBJ)/%.o $(LIB)
	$(call say,link,$@)$(CC) $(LDFLAGS) $^ -lcheck -lsubunit -lrt $(LDLIBS) -o $@

$(BENCH_BIN): $(OBJ)/%: $(OBJ)/%.o $(LIB)
	$(call say,link,$@)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)

# ---- tests -----------------------------------------------------------------------------------------------------------
# `make test T=sim` takes the tests whose path matches that regular expression, and builds no others. A script may start
# the C test programs in its folder, and the fake server test_http.
T ?=
TEST_FILTER ?= $(T)
TESTS ?= $(TEST_BIN) $(TEST_SCRIPT)
CHOSEN = $(if $(TEST_FILTER),$(shell printf '%s\n' $(TESTS) | FILTER='$(TEST_FILTER)' \
           awk '{ name = $$0; sub("^build/obj/[^/]*/", "", name) } name ~ ENVIRON["FILTER"]'),$(TESTS))
CHOSEN_SCRIPT = $(filter-out $(OBJ)/%,$(CHOSEN))
CHOSEN_BIN = $(filter $(OBJ)/%,$(CHOSEN)) $(if $(CHOSEN_SCRIPT),$(OBJ)/common/serve/tests/test_http \
               $(filter $(addprefix $(OBJ)/,$(addsuffix %,$(dir $(CHOSEN_SCRIPT)))),$(TEST_BIN)))
TEST_ENV = SERVELAB=$(abspath $(BIN)/servelab) OBJ=$(abspath $(OBJ)) MODE=$(MODE) CC="$(CC)" JOBS=$(JOBS) \
           $(if $(filter tsan,$(MODE)),CK_TIMEOUT_MULTIPLIER=10 TEST_TIMEOUT_S=7200)
test: deps-test ## maintainer: every test, the browser's too (installs what is missing); T=sim: those whose path matches
	@$(if $(filter build/bin,$(BIN)),,$(MAKE) -j$(JOBS) MODE=release CC=gcc build) # the graders use its simtcc
	@$(MAKE) -j$(JOBS) build $(sort $(CHOSEN_BIN))
	@$(TEST_ENV) TEST_FILTER='$(TEST_FILTER)' common/testing/run_tests.py $(CHOSEN)

test-c: ## maintainer: the tests in C alone, as MODE says (what check-all runs under the sanitizers)
	@$(MAKE) TESTS='$$(TEST_BIN)' test

# What `make test` doesn't do: sanitizers, another compiler, all mutants, and the engines that our golden data came from.
check-all: ## maintainer: test, format, sanitizers, clang, mutants, a bare Debian, foreign engines and clients (hours); ONLY=asan: one step
	@ONLY="$(ONLY)" common/testing/check_all.sh
CLIENTS_SCRIPT := common/serve/tests/check_clients.py common/serve/tests/check_openapi.py
FOREIGN_SCRIPT := $(filter-out $(CLIENTS_SCRIPT),$(wildcard common/*/tests/check_*.py common/backend/*/tests/check_*.py)) \
                  common/load/tests/check_fleet.sh
check-foreign: build ## maintainer: our figures and golden data against the engines that they came from (6 GB of packages)
	@common/setup/deps.sh foreign
	@$(MAKE) -s model || echo "going on without the small model"
	@$(MAKE) -j$(JOBS) $(TEST_BIN)
	@$(TEST_ENV) PYTHON=build/venv-foreign/bin/python common/testing/run_tests.py $(FOREIGN_SCRIPT)
check-clients: build ## maintainer: other people's clients against the server, 50 requests each (11 GB of packages)
	@common/setup/deps.sh clients
	@$(TEST_ENV) common/testing/run_tests.py $(CLIENTS_SCRIPT)
check-bare-debian: ## maintainer: `make test` in a fresh minimal Debian without name spaces and a Python index (root, debootstrap)
	@$(TEST_ENV) TEST_TIMEOUT_S=7200 common/testing/run_tests.py common/setup/tests/check_bare_debian.sh
soak: ## maintainer: repeat the tests that wait (N=50) and the suite (SUITES=4), quiet and on a busy machine; T= chooses
	@$(MAKE) -j$(JOBS) build $(TEST_BIN)
	@$(TEST_ENV) common/testing/soak.sh $(CHOSEN)

check-headers: ## maintainer: every public header compiles alone
	@for h in $(filter-out common/testing/% grader/tests/%,$(wildcard common/*/*.h common/backend/*/*.h grader/*.h grader/*/*.h)); do \
	  echo "#include \"$${h#*/}\"" | $(CC) $(CPPFLAGS) -std=gnu17 $(WARN) -Werror -fsyntax-only -x c - || exit 1; done

check-format: ## maintainer: clang-format changes nothing
	@common/testing/check_format.sh
format: ## maintainer: let clang-format rewrite the sources
	@common/testing/check_format.sh fix

bench: $(BENCH_BIN) ## maintainer: build the benchmarks; each SPEED.md names its command
	@for b in $(BENCH_BIN); do echo $$b; done

# ---- set-up ----------------------------------------------------------------------------------------------------------
deps: ## learner: install what building and the demo need; what it cannot install it names
	@common/setup/deps.sh demo
deps-test: ## maintainer: the same for what the tests need
	@common/setup/deps.sh test

clean: ## learner: remove build/
	rm -rf build

help: ## learner: this list
	@echo "servelab: make TARGET [MODE=release|asan|tsan] [IMPL=solutions|labs] [CC=gcc|clang]"; echo
	@for who in learner lecturer instructor maintainer; do \
	  echo "for the $$who"; \
	  awk -F ":.*## $$who: " "/^[a-z-]+:.*## $$who: / { printf \"  %-17s %s\n\", \$$1, \$$2 }" $(MAKEFILE_LIST); done

.PHONY: build test test-c check-all check-foreign check-clients check-bare-debian soak check-headers check-format format bench deps deps-test clean help
