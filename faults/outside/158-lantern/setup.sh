#!/bin/bash
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c158; rm -rf $w; mkdir -p $w
put() { awk -v o="$here/$2" -v l="$here/$3" '
  function copy(f,  s) { while ((getline s < f) > 0) print s; close(f) }
  $0 == "@OPEN@" { copy(o); next } $0 == "@LOOP@" { copy(l); next } { print }' "$here/walk.js.in" > $w/$1.js; }
put one open1 loop1
put two open2 loop2
[ -z "$MORE" ] || { put a open2 loop1; put b open1 loop2; }
