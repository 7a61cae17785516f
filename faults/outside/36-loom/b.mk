STAMP = $(shell cat conf/*.ini | sort | md5sum | cut -c1-8)
N := $(shell seq 1 80)
all: $(N:%=out/%.txt)
out/%.txt: conf/main.ini
	@cat conf/*.ini | tr 0-4 5-9 | sort -n | cksum > $@; echo "$(STAMP) part $*" >> $@
