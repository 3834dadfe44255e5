# Course tools: the starters and the documents.
labs: ## make labs/ from solutions/; refuses to overwrite edited files (FORCE=1 saves them first)
	@FORCE=$(FORCE) common/course/make_labs.sh

docs: ## README and handouts as HTML in build/docs, links checked
	@common/course/make_docs.sh

.PHONY: labs docs
