# common/simt: simtcc, and beside it the headers and the two runtimes that it links.
#
# The runtimes are built for speed in every MODE: a sanitizer can't follow their stacks, and checked
# programs bring hooks of the same names as its own.
SIMT_HOME := $(BIN)/simt
SIMT_CFLAGS := -std=gnu17 -g -O3 -fPIC -fvisibility=hidden $(WARN) $(if $(filter 1,$(WERROR)),-Werror) -MMD -MP -pthread
SIMT_FAST_SRC := $(filter-out common/simt/runtime/check_%,$(wildcard common/simt/runtime/*.c))
SIMT_CHECK_SRC := $(wildcard common/simt/runtime/*.c)
SIMT_FAST_OBJ := $(SIMT_FAST_SRC:%.c=$(OBJ)/simt-fast/%.o)
SIMT_CHECK_OBJ := $(SIMT_CHECK_SRC:%.c=$(OBJ)/simt-check/%.o)
SIMT_HEADERS := $(shell find common/simt/include -type f)
SIMT_INSTALLED := $(SIMT_HEADERS:common/simt/include/%=$(SIMT_HOME)/include/%)
# the rewriter goes into the library, where its fuzzer finds it
SIMT_REWRITER := common/simt/driver/tokens.c $(wildcard common/simt/driver/rewrite*.c)
COMMON_SRC += $(SIMT_REWRITER)
SIMT_DRIVER_OBJ := $(patsubst %.c,$(OBJ)/%.o,$(filter-out $(SIMT_REWRITER),$(wildcard common/simt/driver/*.c common/simt/ir/*.c)))

EXTRA_PROGRAMS += $(BIN)/simtcc $(SIMT_HOME)/libsimt.a $(SIMT_HOME)/libsimt_check.a $(SIMT_INSTALLED)

$(BIN)/simtcc: $(SIMT_DRIVER_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(call say,link,$@)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(OBJ)/simt-fast/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc,$<)$(CC) -Icommon -D_GNU_SOURCE $(SIMT_CFLAGS) -c $< -o $@

$(OBJ)/simt-check/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc,$< (check))$(CC) -Icommon -D_GNU_SOURCE -DSIMT_CHECK $(SIMT_CFLAGS) -c $< -o $@

$(SIMT_HOME)/libsimt.a: $(SIMT_FAST_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(SIMT_HOME)/libsimt_check.a: $(SIMT_CHECK_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(SIMT_HOME)/include/%: common/simt/include/%
	@mkdir -p $(@D)
	@cp $< $@
