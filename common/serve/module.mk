# common/serve: openapi.json goes into http_openapi.o through .incbin, which the compiler's dependency files can't see.
$(OBJ)/common/serve/http_openapi.o: common/serve/openapi.json
