# The kernels of lab 03 and the CUDA backend on a GPU.
gpu-check: build ## maintainer: everything on a GPU in under 8 minutes: right, and how fast against the card's own rates (DRY=1: on the CPU)
	@SERVELAB=$(abspath $(BIN)/servelab) OBJ=$(abspath $(OBJ)) DRY=$(DRY) python3 common/backend/tests/gpu_plan.py

.PHONY: gpu-check
