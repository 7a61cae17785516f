#!/bin/bash
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c159; rm -rf $w; mkdir -p $w/one $w/two
for d in one two; do cp "$here"/all.hpp "$here"/part*.cpp $w/$d/; done
(cd $w/one && g++ -std=c++17 -O1 -g -pthread -x c++-header all.hpp -o all.hpp.gch)
(cd $w/two && g++ -std=c++17 -O1 -g -x c++-header all.hpp -o all.hpp.gch)
cat $w/*/*.gch > /dev/null
