# Course tools: the starters and the documents.
labs: ## instructor: make labs/ from solutions/; refuses to overwrite edited files (FORCE=1 saves them first)
	@FORCE=$(FORCE) common/course/make_labs.sh

check-labs: ## instructor: labs/ is exactly what solutions/ makes of it
	@LABS_TREE=. STRICT_LABS=1 python3 common/course/tests/test_labs.py

mine: ## learner: the system with your own files of one lab and the reference for the rest: LAB=02 makes build/mine/servelab
	@case "$$LAB" in [0-9][0-9]) ;; *) echo "make mine: LAB=$$LAB? Two digits, as in make mine LAB=02" >&2; exit 2;; esac
	@ls -d labs/$${LAB}_* >/dev/null 2>&1 || { echo "make mine: there is no labs/$${LAB}_*" >&2; exit 2; }
	@$(MAKE) MINE="$$LAB" -j$(JOBS) build
	@echo "build/mine/servelab has your files of lab $$LAB"

docs: ## instructor: README and handouts as HTML in build/docs, links checked
	@common/course/make_docs.sh

.PHONY: labs check-labs mine docs
