#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec java -XX:+UseSerialGC -Xms128m -Xmx256m -Dshop.name=north -Dshop.region=7 -Dshop.mode=standard -Duser.comment="spring campaign" -cp app:lib1:lib2:lib3:lib4:lib5:lib6:lib7:lib8:lib9:lib10:lib11:lib12 Sort
