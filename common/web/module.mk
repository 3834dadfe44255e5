# common/web: the page's files go into page.o through .incbin, which the compiler's dependency files can't see.
$(OBJ)/common/web/page.o: $(wildcard common/web/*.html common/web/*.css common/web/*.js)
