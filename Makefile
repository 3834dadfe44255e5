# servelab. `make demo` and `make test` do everything; `make help` lists the rest.
#
#   MODE=release|asan|tsan   how it is compiled (asan includes UBSan)
#   IMPL=solutions|labs      whose lab files are linked into the system
#   MINE=02                  the files of that one lab from labs/, whatever IMPL says (`make mine LAB=02`)
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

# Each combination has its own object folder; the plain one is the product and its programs stand in build/bin.
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
LDLIBS += -lcjson -lmicrohttpd -lcurl -lpcre2-8 -lm -ldl

# ---- what the programs are made of -----------------------------------------------------------------------------------
LAB_DIRS := 01_request_record 02_queue_sim 03_kernels 04_serving
# A lab's files come from $(IMPL), or from labs/ when it is MINE; a lab that has no starter in labs/ yet comes from
# solutions/.
lab_tree = $(if $(filter $(MINE)_%,$(1)),labs,$(IMPL))
lab_sources = $(or $(wildcard $(call lab_tree,$(1))/$(1)/*.c),$(wildcard solutions/$(1)/*.c))
LAB_SRC := $(foreach l,$(LAB_DIRS),$(call lab_sources,$(l)))
COMMON_SRC := $(filter-out common/cli/main.c common/testing/% common/backend/tests/%,$(wildcard common/*/*.c common/backend/*/*.c))
GRADER_SRC := $(wildcard grader/*.c)

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
TESTS ?= $(TEST_BIN) $(TEST_SCRIPT)
test: deps-test ## maintainer: every test, the browser's too (installs what is missing)
	@$(MAKE) -j$(JOBS) build $(TEST_BIN)
	@SERVELAB=$(abspath $(BIN)/servelab) OBJ=$(abspath $(OBJ)) MODE=$(MODE) CC="$(CC)" \
	 common/testing/run_tests.sh $(TESTS)

# The long version: other compilers' opinion, sanitizers, and the engines that our golden data came from.
FOREIGN_SCRIPT := $(wildcard common/*/tests/check_*.py common/backend/*/tests/check_*.py)
check-all: test ## maintainer: test, sanitizers, clang, and our figures against foreign engines (an hour)
	@$(MAKE) check-format check-headers
	@for m in asan tsan; do \
	  $(MAKE) MODE=$$m -j$(JOBS) build $(patsubst $(OBJ)/%,build/obj/gcc-$$m-solutions/%,$(TEST_BIN)) && \
	  $(MAKE) MODE=$$m test TESTS='$$(TEST_BIN)' || exit 1; done
	@$(MAKE) CC=clang WERROR=1 -j$(JOBS) build
	@common/setup/deps.sh foreign
	@$(MAKE) -s model
	@SERVELAB=$(abspath $(BIN)/servelab) OBJ=$(abspath $(OBJ)) PYTHON=build/venv-foreign/bin/python \
	 common/testing/run_tests.sh $(FOREIGN_SCRIPT)

check-headers: ## maintainer: every public header compiles alone
	@for h in $(filter-out common/testing/%,$(wildcard common/*/*.h common/backend/*/*.h grader/*.h)); do \
	  echo "#include \"$${h#*/}\"" | $(CC) $(CPPFLAGS) -std=gnu17 $(WARN) -Werror -fsyntax-only -x c - || exit 1; done

FORMATTED = $(shell git ls-files '*.c' '*.h' '*.cu' '*.cuh')
check-format: ## maintainer: clang-format changes nothing
	@clang-format --dry-run --Werror $(FORMATTED)
format: ## maintainer: let clang-format rewrite the sources
	@clang-format -i $(FORMATTED)

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
	  awk -F ":.*## $$who: " "/^[a-z-]+:.*## $$who: / { printf \"  %-16s %s\n\", \$$1, \$$2 }" $(MAKEFILE_LIST); done

.PHONY: build test check-all check-headers check-format format bench deps deps-test clean help
