# common/backend/cuda: the CUDA backend's plug-ins, from one source: backend-simt.so by simtcc, and where nvcc is
# installed backend-cuda.so.
CUDA_KERNELS := embedding rmsnorm rope gemv swiglu attention_prefill attention_decode attention_merge argmax sample
# With MINE=03 the learner's file of a kernel that is written, and the reference's of the others.
CUDA_LABS := $(filter labs,$(call lab_tree,03_kernels))
CUDA_MINE := $(if $(CUDA_LABS),$(foreach k,$(CUDA_KERNELS),$(if $(shell grep -s '^[^/]*LAB_TODO_KERNEL' labs/03_kernels/$(k).cu),,$(k))))
CUDA_SRC := $(wildcard common/backend/cuda/*.cu) \
  $(foreach k,$(CUDA_KERNELS),$(if $(filter $(k),$(CUDA_MINE)),labs,solutions)/03_kernels/$(k).cu)
# what the plug-in shares with the program, compiled once more for a shared object
CUDA_SHARED := $(wildcard common/base/*.c) common/backend/cuda/launch_json.c common/backend/limits.c common/backend/launch.c \
  common/model/tensor.c common/backend/kernel_spec.c common/backend/kernel_table.c common/backend/cpu/dequant.c common/backend/cpu/fp8.c common/backend/cpu/ops.c
CUDA_PIC := $(OBJ)/pic$(MINE:%=-mine%)
CUDA_SHARED_LIB := $(CUDA_PIC)/libshared.a
# what both sides see of each other's structs (plugin.h)
CUDA_SEAM := $(addprefix common/,backend/cuda/plugin.h backend/cuda/cuda.h backend/backend.h model/model.h model/tensor.h base/err.h)
CUDA_ABI := -DCUDA_PLUGIN_ABI=UINT64_C\(0x$(shell cat $(CUDA_SEAM) | sha256sum | cut -c1-16)\)
CFLAGS_common_backend_cuda_plugin += $(CUDA_ABI)
CUDA_HEADERS := $(wildcard common/backend/cuda/*.cuh common/backend/cuda/*.h common/backend/*.h common/model/*.h) common/base/err.h
CUDA_FLAGS := -std=c++17 -Icommon -O2 $(CUDA_ABI)

$(CUDA_PIC)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc,$< for the plug-ins)$(CC) -Icommon -D_GNU_SOURCE $(if $(CUDA_LABS),-DLAUNCH_MINE='"labs/03_kernels/launch.json"' -DKERNELS_MINE='"$(CUDA_MINE)"') $(SIMT_CFLAGS) \
	  -march=$(ARCH) -fno-math-errno -c $< -o $@
$(CUDA_PIC)/common/backend/cuda/launch_json.o: solutions/03_kernels/launch.json $(if $(CUDA_LABS),FORCE)
FORCE:
$(CUDA_SHARED_LIB): $(CUDA_SHARED:%.c=$(CUDA_PIC)/%.o)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# ---- on the CPU; the checked one is for the tests
SIMT_READY := $(SIMT_INSTALLED) $(SIMT_DRIVER_OBJ) $(SIMT_REWRITER:%.c=$(OBJ)/%.o) | $(BIN)/simtcc
$(OBJ)/plugin-simt/%.o: %.cu $(CUDA_HEADERS) $(SIMT_READY)
	@mkdir -p $(@D)
	$(call say,simt,$<)$(BIN)/simtcc $(CUDA_FLAGS) -fvisibility=hidden -c $< -o $@
$(OBJ)/plugin-check/%.o: %.cu $(CUDA_HEADERS) $(SIMT_READY)
	@mkdir -p $(@D)
	$(call say,simt,$< (check))$(BIN)/simtcc --check $(CUDA_FLAGS) -fvisibility=hidden -c $< -o $@
CUDA_SIMT := $(CUDA_SRC:%.cu=$(OBJ)/plugin-simt/%.o) $(CUDA_SHARED_LIB)
CUDA_CHECK := $(CUDA_SRC:%.cu=$(OBJ)/plugin-check/%.o) $(CUDA_SHARED_LIB)
$(BIN)/backend-simt.so: $(CUDA_SIMT) $(SIMT_HOME)/libsimt.a
	$(call say,link,$@)$(BIN)/simtcc -shared $(CUDA_SIMT) -lcjson -Wl,-z,defs -o $@
$(BIN)/backend-simt-check.so: $(CUDA_CHECK) $(SIMT_HOME)/libsimt_check.a
	$(call say,link,$@)$(BIN)/simtcc --check -shared $(CUDA_CHECK) -lcjson -Wl,-z,defs -o $@
# simtcc needs a C++ compiler; the rest of the project doesn't
EXTRA_PROGRAMS += $(if $(shell command -v g++ || command -v clang++),$(BIN)/backend-simt.so)

# ---- for a GPU
NVCC ?= nvcc
NVCC_ARCH := -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90
$(OBJ)/plugin-cuda/%.o: %.cu $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(call say,nvcc,$<)$(NVCC) $(CUDA_FLAGS) $(NVCC_ARCH) -Xptxas -v -Xcompiler -fPIC,-fvisibility=hidden -c $< -o $@ 2> $@.log \
	  || { cat $@.log >&2; exit 1; }
$(BIN)/backend-cuda.so: $(CUDA_SRC:%.cu=$(OBJ)/plugin-cuda/%.o) $(CUDA_SHARED_LIB)
	$(call say,link,$@)$(NVCC) $(NVCC_ARCH) -shared $^ -lcublas -lcjson -Xlinker -z,defs -o $@
cuda: build $(BIN)/backend-cuda.so ## maintainer: the CUDA backend for a GPU of sm_80 or sm_90 (needs nvcc; --backend simt needs nothing)
.PHONY: cuda
$(OBJ)/common/backend/cuda/tests/test_cuda_check: | $(BIN)/backend-simt-check.so
