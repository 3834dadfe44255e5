# The autograder: its labs' parts, the prebuilt half of the child process, and `make grade`.
GRADER_SRC += $(wildcard grader/lab[0-9][0-9]/*.c)

# The child runs beside a learner's objects, so it is compiled in the same way on every machine, whatever MODE and
# CC say: plain, and for the sanitizers. lab_todo.c stays out: the child has its own.
GRADER_CC := gcc
CHILD_GIVEN := $(filter-out common/base/lab_todo.c,$(wildcard common/base/*.c)) $(wildcard common/record/*.c) \
               common/objective/names.c
CHILD_BOTH := grader/child/child.c grader/child/child_seccomp.c grader/child/place.c grader/wire.c $(CHILD_GIVEN)
CHILD_lab01 := grader/child/lab01.c grader/child/lab01_stubs.c grader/lab01/cases.c $(CHILD_BOTH)
# Lab 02 stands on lab 01's functions: the reference's, whoever's lab 02 is graded.
CHILD_lab02 := grader/child/lab02.c grader/child/lab02_stubs.c grader/lab02/questions.c common/sched/policy_check.c \
               $(wildcard solutions/01_request_record/*.c) $(CHILD_BOTH)
CHILD_lab03 := grader/child/lab03.c grader/child/lab03_stubs.c grader/lab03/questions.c $(CHILD_BOTH)
# Beside a kernel stands less: it is device code, watched by simt's runtime.
CHILD_lab03_kernel := grader/child/child.c grader/child/lab03_kernel.c grader/lab03/kernel_wire.c grader/wire.c
CHILD_FLAGS := -std=gnu17 -O1 -Icommon -Igrader -Icommon/simt/include -D_GNU_SOURCE $(WARN) -Wno-format-truncation $(if $(filter 1,$(WERROR)),-Werror) -MMD -MP
CHILD_NAMES := lab01 lab02 lab03 lab03_kernel
CHILDREN := $(CHILD_NAMES:%=build/grader/%.a) $(CHILD_NAMES:%=build/grader/%.asan.a)
EXTRA_PROGRAMS += $(CHILDREN)

build/grader/plain/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc,$< for the grader)$(GRADER_CC) $(CHILD_FLAGS) -c $< -o $@
build/grader/asan/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc,$< for the grader)$(GRADER_CC) $(CHILD_FLAGS) -g1 -fno-omit-frame-pointer -fsanitize=address -c $< -o $@
define child_archives
build/grader/$(1).a: $(CHILD_$(1):%.c=build/grader/plain/%.o)
build/grader/$(1).asan.a: $(CHILD_$(1):%.c=build/grader/asan/%.o)
endef
$(foreach l,$(CHILD_NAMES),$(eval $(call child_archives,$(l))))
$(CHILDREN):
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
-include $(shell find build/grader -name '*.d' 2>/dev/null)

# The learner's own files unless DIR says otherwise. HINT=1, 2 or 3 shows that many steps of help; KEEP=1 leaves the work
# folder.
LAB ?= 01
DEVICE ?= simt
export LAB CHECK SEED HINT DIR KEEP DEVICE
grade: build ## learner: grade a lab: LAB=01 [DIR=folder] [DEVICE=cuda] [CHECK=intervals] [SEED=n] [HINT=1] [KEEP=1]
	@$(BIN)/servelab grade "$$LAB" $(if $(CHECK),--check "$$CHECK") $(if $(SEED),--seed "$$SEED") \
	  --device "$$DEVICE" $(if $(HINT),--hint "$$HINT") $(if $(KEEP),--keep) $(if $(DIR),-- "$$DIR")

check-mutants: build ## maintainer: does every mutant of the reference lose points? (all of them, some minutes)
	@SERVELAB=$(abspath $(BIN)/servelab) python3 grader/tests/test_mutants.py all
	@SERVELAB=$(abspath $(BIN)/servelab) python3 grader/tests/test_lab03_mutants.py all
	@SERVELAB=$(abspath $(BIN)/servelab) python3 grader/tests/test_lab03.py all
check-all: check-mutants

.PHONY: grade check-mutants
