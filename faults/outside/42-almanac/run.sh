#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -e loc/en_US.utf8 ] || { mkdir -p loc && localedef -i en_US -f UTF-8 ./loc/en_US.utf8; } || exit 3
[ -s names.txt ] || /usr/bin/python3 -c '
import random
random.seed(6)
with open("names.txt","w") as f:
    for i in range(700000): f.write("".join(random.choice("abcdefghijklmnopqrstuvwxyzABCDEF ") for _ in range(18))+"\n")' || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
