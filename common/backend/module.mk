# The kernels of lab 03 on a GPU.
gpu-check: build ## maintainer: run every kernel on a GPU: right, and how fast against the card's own rates (DRY=1: on the CPU)
	@SERVELAB=$(abspath $(BIN)/servelab) OBJ=$(abspath $(OBJ)) DRY=$(DRY) common/backend/tests/gpu_check.sh

.PHONY: gpu-check
