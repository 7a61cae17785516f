#!/bin/sh
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c176; mkdir -p $w/1 $w/2
d=$w/srv/www/customers/e/example/releases/2026/11/current/app/templates/default/parts; mkdir -p $d
for i in $(seq 0 59); do seq $((100 + i)) > $d/part$i.html; done
cp "$here/site.php" $w/
awk 'BEGIN { srand(4); for (i = 0; i < 16000; i++) printf "10.%d.%d.%d - %s [30/Nov/2026:10:%02d:%02d +0000] \"GET /s%d/p-%d/item%d.html?q=%d&page=%d HTTP/1.1\" 200 %d \"https://shop.example.test/list/%d\" \"Mozilla/5.0 (X11; Linux x86_64; rv:%d.0) Gecko/20100101 Firefox/%d.0\"\n",
  rand()*250, rand()*250, rand()*250, rand() < .5 ? "-" : "anna", rand()*60, rand()*60, rand()*40, rand()*99, rand()*9999, rand()*999, rand()*9, rand()*90000, rand()*999, 100+rand()*30, 100+rand()*30 }' > $w/log
base='memory_limit=256M
error_reporting=32767
display_errors=1
short_open_tag=0
date.timezone=UTC
'
printf '%spcre.jit=1\nopen_basedir=\n' "$base" > $w/1/php.ini
printf '%spcre.jit=0\nopen_basedir=%s:/usr/share/php:/tmp\n' "$base" $w > $w/2/php.ini
