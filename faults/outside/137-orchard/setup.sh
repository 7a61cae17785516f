#!/bin/sh
set -e
w=/var/tmp/c137
[ -e $w/ok ] && exit 0
rm -rf $w; mkdir -p $w/1; cd $w/1
export HOME=$w
git init -q .; git config user.name n; git config user.email n@n; git config gc.auto 0
for d in $(seq 1 40); do
  mkdir -p part$d
  for i in $(seq 1 40); do seq $((d * 1000 + i)) $((d * 1000 + i + 1000)) > part$d/f$i.txt; done
done
find . -name .git -prune -o -type f -print0 | xargs -0 touch -d '2026-01-05 10:00'
git add .; git commit -qm first
sleep 1.2
git update-index -q --refresh
cd ..
cp -a 1 2
touch ok
