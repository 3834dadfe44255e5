# The autograder: its sources, the prebuilt child programs, and `make grade`.
GRADER_SRC += $(wildcard grader/lab[0-9][0-9]/*.c)

# The child is linked with a learner's objects, so it is compiled in the same way on every machine, independent of MODE
# and CC: plain, and for the sanitizers. Without lab_todo.c: the child defines lab_todo itself.
GRADER_CC := gcc
CHILD_GIVEN := $(filter-out common/base/lab_todo.c,$(wildcard common/base/*.c)) $(wildcard common/record/*.c) \
               common/objective/names.c
CHILD_BOTH := grader/child/child.c grader/child/child_seccomp.c grader/child/place.c grader/core/wire.c $(CHILD_GIVEN)
CHILD_lab01 := grader/child/lab01.c grader/child/lab01_stubs.c grader/lab01/cases.c $(CHILD_BOTH)
# Every submission of lab 02 is linked with the reference's functions of lab 01.
CHILD_lab02 := grader/child/lab02.c grader/child/lab02_stubs.c grader/lab02/cases.c common/sched/policy_check.c \
               $(wildcard solutions/01_request_record/*.c) $(CHILD_BOTH)
# Lab 04: the engine around the learner's files, with the reference's policy and its files of labs 01 and 02.
CHILD_lab04 := $(wildcard grader/child/lab04*.c) grader/lab04/cases.c grader/lab04/machine.c common/sched/policy_check.c \
               $(addprefix common/serve/,engine.c engine_queue.c speculation.c answer.c stream.c) $(addprefix common/model/,sampler.c token_rules.c token_scores.c json_guide.c) \
               $(wildcard solutions/01_request_record/*.c) $(wildcard solutions/02_queue_sim/*.c) $(CHILD_BOTH)
# The engine with real threads, under ThreadSanitizer. A program of its own: child.c and the locks of one thread are not in it.
CHILD_threads := $(filter-out grader/child/lab04.c grader/child/lab04_engine.c grader/child/lab04_lock.c grader/child/lab04_stubs.c \
                 grader/child/child%.c grader/child/place.c grader/lab04/%.c grader/core/%.c,$(CHILD_lab04)) common/base/lab_todo.c \
                 grader/child/child_seccomp.c
CHILD_lab04 := $(filter-out %/lab04_threads.c,$(CHILD_lab04))
EXTRA_PROGRAMS += build/grader/lab04_threads.a
build/grader/lab04_threads.a: $(CHILD_threads:%.c=build/grader/tsan/%.o)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
build/grader/tsan/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc,$< for the grader)$(GRADER_CC) $(CHILD_FLAGS) -g1 -fsanitize=thread -c $< -o $@
# The same on the learner's own labs 01 and 02: stubs in place of the reference's functions.
CHILD_lab04_own := grader/child/lab01_stubs.c grader/child/lab02_stubs.c $(filter-out solutions/%,$(CHILD_lab04))
CHILD_lab03 := grader/child/lab03.c grader/child/lab03_stubs.c grader/lab03/cases.c $(CHILD_BOTH)
# A kernel needs less: it is device code, checked by simt's runtime.
CHILD_lab03_kernel := grader/child/child.c grader/child/child_seccomp.c grader/child/lab03_kernel.c grader/lab03/kernel_wire.c grader/core/wire.c
CHILD_FLAGS := -std=gnu17 -O1 -Icommon -Igrader -Icommon/simt/include -D_GNU_SOURCE $(WARN) -Wno-format-truncation $(if $(filter 1,$(WERROR)),-Werror) -MMD -MP
CHILD_NAMES := lab01 lab02 lab03 lab03_kernel lab04 lab04_own
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

# The rest of the server, for a learner's four files of lab 04: the product's own objects, and the reference's earlier labs.
SERVER_ARCHIVE := build/grader/lab04_server.a
EXTRA_PROGRAMS += $(SERVER_ARCHIVE)
ifeq ($(filter gcc-release-%,$(CONFIG)),)
$(SERVER_ARCHIVE): FORCE
	$(Q)$(MAKE) MODE=release CC=gcc IMPL=solutions MINE= $@
FORCE:
.PHONY: FORCE
else
$(SERVER_ARCHIVE): $(OBJ)/common/cli/main.o $(patsubst %.c,$(OBJ)/%.o,$(COMMON_SRC) $(GRADER_SRC)) \
                   $(patsubst %.c,build/grader/plain/%.o,$(wildcard solutions/0[123]_*/*.c) \
                     grader/child/server_confine.c grader/child/child_seccomp.c)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^ && strip -g $@
endif
-include $(shell find build/grader -name '*.d' 2>/dev/null)

# The learner's own files unless DIR says otherwise. HINT=1, 2 or 3 shows that many steps of help; KEEP=1 leaves the work
# folder.
LAB ?= 01
DEVICE ?= simt
export LAB CHECK SEED HINT DIR KEEP DEVICE OWN
grade: build ## learner: grade a lab: LAB=01 [DIR=folder] [DEVICE=cuda] [OWN=all] [CHECK=intervals] [SEED=n] [HINT=1] [KEEP=1]
	@$(BIN)/servelab grade "$$LAB" $(if $(CHECK),--check "$$CHECK") $(if $(SEED),--seed "$$SEED") \
	  --device "$$DEVICE" $(if $(OWN),--own "$$OWN") $(if $(HINT),--hint "$$HINT") $(if $(KEEP),--keep) $(if $(DIR),-- "$$DIR") || \
	  case $$? in 1|3) ;; *) exit 2;; esac # points that are still to earn are no error of make

check-mutants: build ## maintainer: does every mutant of the reference lose points? (all of them, some minutes)
	@$(TEST_ENV) MUTANTS=all TEST_TIMEOUT_S=14400 TEST_LOGS=build/test-logs/all \
	 common/testing/run_tests.py grader/tests/test_mutants.py grader/tests/test_lab03_mutants.py grader/tests/test_lab03.py

# LAB is only for `make attack` what was given for it: LAB ?= 01 above is for `make grade`.
attack: build $(OBJ)/grader/tests/test_attacks ## maintainer: every hostile submission: unearned points, hangs, crashes, leftovers, leaks; [LAB=03] [ATTACK=regex]
	@$(TEST_ENV) LAB=$(if $(filter file,$(origin LAB)),all,$(LAB)) ATTACK='$(ATTACK)' grader/tests/attack.py

.PHONY: attack grade check-mutants
