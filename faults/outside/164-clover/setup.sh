#!/bin/bash
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c164; rm -rf $w
make_one() {
  mkdir -p $w/$1
  awk -v h="$2" -v f="$3" '{ gsub(/@HASH@/, h); if ($0 == "@FIELD@") { while ((getline l < f) > 0) print l } else print }' "$here/Main.java.in" > $w/$1/Main.java
  (cd $w/$1 && javac -d . Main.java)
}
h1='x * 31 + y * 1000003' h2='x * 31 + y'
make_one 1 "$h1" "$here/field1"
make_one 2 "$h2" "$here/field2"
[ -z "$MORE" ] || { make_one 3 "$h2" "$here/field1"; make_one 4 "$h1" "$here/field2"; }
