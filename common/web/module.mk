# common/web: the page's files go into page.o through .incbin, which the compiler's dependency files can't see.
$(OBJ)/common/web/page.o: $(wildcard common/web/*.html common/web/*.css common/web/*.js)

demo: ## lecturer: one real request: browser, record, classification, lab 01 graded (MODEL=smollm2 a GGUF file or a folder; BACKEND=simt)
	@BACKEND=$(BACKEND) common/web/demo.sh $(MODEL)

.PHONY: demo
