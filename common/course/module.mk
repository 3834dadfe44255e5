# Course tools: the starters and the documents.
labs: ## make labs/ from solutions/; refuses to overwrite edited files (FORCE=1 saves them first)
	@FORCE=$(FORCE) common/course/make_labs.sh

check-labs: ## for those who maintain the course: labs/ as it stands is what solutions/ makes of it
	@LABS_TREE=. STRICT_LABS=1 python3 common/course/tests/test_labs.py

docs: ## README and handouts as HTML in build/docs, links checked
	@common/course/make_docs.sh

.PHONY: labs check-labs docs
