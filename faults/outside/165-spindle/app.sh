#!/bin/sh
# app.sh NUMBER SCRATCH ADDRESS PORT
n=$1 d=$2 a=$3 p=$4
mkdir -p "$d"; files=463
[ "$n" = 2 ] && files=223
cat > "$d/fpm.conf" <<C
[global]
daemonize = no
error_log = $d/fpm.log
[www]
user = nobody
group = nogroup
listen = $a:$p
pm = static
pm.max_children = 2
C
f=$(ls /usr/sbin/php-fpm* | head -1)
e=$(ls -d /usr/lib/php/2*/opcache.so | tail -1)
exec $f -n -R -F -d zend_extension=$e -d opcache.enable=1 -d opcache.memory_consumption=64 -d opcache.max_accelerated_files=$files -d opcache.revalidate_freq=60 -d opcache.file_update_protection=0 -y "$d/fpm.conf"
