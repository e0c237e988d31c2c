# amalgamation.mk: the C core as one file.
#
#   make amalgamation   $(BUILD)/amalgamation: weir.c and weir.h; weir_reader.c and weir_reader.h, the reader alone;
#                       LICENSE
#
# READER_FUNCTIONS names the functions that the reader is to have; without it: all that read, follow and verify.

AMALGAMATION = $(BUILD)/amalgamation
READER_FUNCTIONS =

.PHONY: amalgamation always

amalgamation: need-python $(AMALGAMATION)/weir.c
	@cd $(AMALGAMATION) && wc -l weir.c weir.h weir_reader.c weir_reader.h

# Always asked, for it names the commit; what would come out the same keeps its time.
$(AMALGAMATION)/weir.c: always
	@python3 -B Packaging/amalgamate.py $(AMALGAMATION) $(READER_FUNCTIONS)

$(AMALGAMATION)/weir.h $(AMALGAMATION)/weir_reader.c $(AMALGAMATION)/weir_reader.h: $(AMALGAMATION)/weir.c ;
