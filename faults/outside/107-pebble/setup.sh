#!/bin/bash
set -e
D=/var/tmp/c107; mkdir -p $D/t1/src $D/t2; cd $D; : > pids
cat > t1/src/all.h <<'X'
#include <string>
#include <vector>
#include <map>
#include <algorithm>
X
for i in 1 2 3; do echo "#include \"all.h\"
int part$i(int n){ std::vector<int> v(n); for(int i=0;i<n;i++) v[i]=i*$i%7; std::sort(v.begin(),v.end()); return v[n/2]; }
const char *id$i=BUILD; const char *lb$i=LABEL;" > t1/src/p$i.cc; done
mkdir t1/assets; for i in $(seq 30); do head -c 2M /dev/zero | tr '\0' "$(printf "\\$(printf %o $((60+i)))")" > t1/assets/a$i.bin; done
cat > t1/stamp.sh <<'X'
#!/bin/sh
find src assets -type f -not -name '*.gch' | sort | xargs cat | sha1sum | cut -c1-12
X
chmod +x t1/stamp.sh
cat > t1/Makefile <<'X'
include config.mk
CXXFLAGS = -O0 -g0
OBJ = src/p1.o src/p2.o src/p3.o
all: $(OBJ)
src/%.o: src/%.cc
	@g++ $(CXXFLAGS) -DBUILD='"$(BUILD_ID)"' -DLABEL='"v1-$(BUILD_ID)"' -include src/all.h -c -o $@ $<
X
cp -a t1/. t2/
echo 'BUILD_ID := $(shell ./stamp.sh)' > t1/config.mk
echo 'BUILD_ID = $(shell ./stamp.sh)' > t2/config.mk
(cd t1; g++ -O0 -g0 -x c++-header src/all.h -o src/all.h.gch)
(cd t2; g++ -O2 -g -x c++-header src/all.h -o src/all.h.gch)
