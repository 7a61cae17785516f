#!/bin/bash
set -e
D=/var/tmp/c120; mkdir -p $D/tree1; cd $D/tree1; : > $D/pids
mkdir conf page out
for i in 1 2 3 4 5 6; do echo "value$i $((i*77))" > conf/p$i.txt; done
for i in $(seq 80); do printf '<html>page %s revision @REV@</html>\n' $i > page/p$i.in; done
cat > all.hpp <<'X'
#include <iostream>
#include <map>
#include <vector>
#include <string>
#include <algorithm>
#include <functional>
#include <sstream>
X
cat > main.cpp <<'X'
int two(int);
int main(int c,char**v){ std::map<std::string,int> m; for(int i=0;i<c;i++) m[v[i]]=two(i); for(auto&p:m) std::cout<<p.first<<" "<<p.second<<"\n"; }
X
cat > two.cpp <<'X'
int two(int x){ std::vector<int> v; for(int i=0;i<x;i++) v.push_back(i*x); int s=0; for(int k:v) s+=k; return s; }
X
cat > Makefile <<'X'
REV := $(shell cat conf/*.txt | sort | cksum | cut -d' ' -f1)
CXXFLAGS := -O1 -fPIC -std=gnu++17
PAGES := $(patsubst page/%.in,out/%.html,$(wildcard page/*.in))
all: prog $(PAGES)
prog: main.o two.o
	g++ -o $@ $^
%.o: %.cpp
	g++ $(CXXFLAGS) -include all.hpp -c -o $@ $<
out/%.html: page/%.in
	sed s/@REV@/$(REV)/ $< > $@
X
cp -a $D/tree1 $D/tree2
g++ -O1 -fPIC -std=gnu++17 -x c++-header -o $D/tree1/all.hpp.gch all.hpp
cd $D/tree2
g++ -O1 -std=gnu++17 -x c++-header -o $D/tree2/all.hpp.gch all.hpp
sed -i 's/^REV := /REV = /' Makefile
