#!/bin/bash
set -e
D=/var/tmp/c74; rm -rf $D; mkdir -p $D/shop1 $D/shop2 $D/sess $D/tmp; cd $D; : > pids
cat > shop1/cart.php <<'P'
<?php
session_start();
$_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
session_write_close();
$rows = [];
for ($i = 0; $i < 300; $i++) $rows[] = ['sku' => md5("sku$i"), 'qty' => $i % 7];
usleep(16000);
echo json_encode(['cart' => count($rows)]);
P
cat > shop2/cart.php <<'P'
<?php
session_start();
$_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
$rows = [];
for ($i = 0; $i < 300; $i++) $rows[] = ['sku' => md5("sku$i"), 'qty' => $i % 7];
usleep(16000);
echo json_encode(['cart' => count($rows)]);
session_write_close();
P
chown -R www-data $D/sess
cat > fpm.conf <<C
[global]
error_log = $D/fpm.log
daemonize = no
[www]
user = www-data
group = www-data
listen = $D/fpm.sock
listen.mode = 0666
pm = static
pm.max_children = 8
php_admin_value[session.save_path] = $D/sess
C
cat > nginx.conf <<C
daemon off; worker_processes 1; pid $D/nginx.pid; error_log $D/err.log;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path $D/tmp; fastcgi_temp_path $D/tmp; proxy_temp_path $D/tmp; uwsgi_temp_path $D/tmp; scgi_temp_path $D/tmp;
  server { listen 127.0.0.1:7474; location / { fastcgi_pass unix:$D/fpm.sock; fastcgi_param SCRIPT_FILENAME $D/shop1/cart.php; fastcgi_param REQUEST_METHOD GET; fastcgi_param HTTP_COOKIE \$http_cookie; } }
  server { listen 127.0.0.1:7475; location / { fastcgi_pass unix:$D/fpm.sock; fastcgi_param SCRIPT_FILENAME $D/shop2/cart.php; fastcgi_param REQUEST_METHOD GET; fastcgi_param HTTP_COOKIE \$http_cookie; } }
}
C
php-fpm8.2 -F -y fpm.conf </dev/null >/dev/null 2>&1 & echo $! >> pids
nginx -c $D/nginx.conf </dev/null >/dev/null 2>&1 & echo $! >> pids
sleep 1
