# common/report: the page of definitions goes into explain.o through .incbin, which the compiler's dependency files can't see.
$(OBJ)/common/report/explain.o: common/DEFINITIONS.md
