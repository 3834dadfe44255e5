# Course tools: the starters and the documents.
labs: ## instructor: make labs/ from solutions/; refuses to overwrite edited files (FORCE=1 saves them first)
	@FORCE=$(FORCE) common/course/make_labs.sh

check-labs: ## instructor: labs/ is exactly what `make labs` would generate
	@LABS_TREE=. STRICT_LABS=1 python3 common/course/tests/test_labs.py

mine: ## learner: LAB=02: build/mine/servelab, with your files of that lab and the reference for the rest; LAB=all: of all labs
	@case "$$LAB" in [0-9][0-9] | all) ;; *) echo "make mine: LAB='$$LAB' is not a lab's number; two digits, as in make mine LAB=02, or all" >&2; exit 2;; esac
	@[ "$$LAB" = all ] || ls -d labs/$${LAB}_* >/dev/null 2>&1 || { echo "make mine: labs/$${LAB}_* is missing; the labs are: $$(ls labs)" >&2; exit 2; }
	@$(MAKE) MINE="$$LAB" -j$(JOBS) build
	@echo "build/mine/servelab has your files of $$([ "$$LAB" = all ] && echo all labs || echo lab $$LAB)"

docs: ## instructor: README and handouts as HTML in build/docs, links checked
	@common/course/make_docs.sh

.PHONY: labs check-labs mine docs
