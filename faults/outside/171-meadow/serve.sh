#!/bin/sh
# serve.sh NUMBER SCRATCH ADDRESS PORT
n=$1 d=$2 a=$3 p=$4
m=/usr/lib/apache2/modules
page=$d/www/shop/en/catalogue/garden
mkdir -p "$page"
seq 300 > "$page/spade.html"
for i in $(seq 60); do
  echo "RewriteCond %{QUERY_STRING} ^old=$i(&.*)?\$ [NC]"
  echo "RewriteRule ^/?(?:shop/)?(?:[a-z]{2}/)?article-$i-([0-9a-z]+)\\.(html?|php)\$ /shop/en/catalogue/garden/\$1.html [R=301,L]"
done > "$d/rules"
allow=None; here=
if [ "$n" = 2 ]; then
  allow=FileInfo
  { echo "RewriteEngine On"; cat "$d/rules"; } > "$d/www/.htaccess"
else
  here="RewriteEngine On
Include $d/rules"
fi
cat > "$d/conf" <<C
ServerName site.test
Listen $a:$p
PidFile $d/pid
ErrorLog $d/error
LoadModule mpm_event_module $m/mod_mpm_event.so
LoadModule authz_core_module $m/mod_authz_core.so
LoadModule mime_module $m/mod_mime.so
LoadModule rewrite_module $m/mod_rewrite.so
TypesConfig /etc/mime.types
Mutex pthread
StartServers 1
ServerLimit 1
ThreadsPerChild 16
ThreadLimit 16
MaxRequestWorkers 16
KeepAlive On
MaxKeepAliveRequests 0
MinSpareThreads 1
MaxSpareThreads 16
DocumentRoot $d/www
<Directory />
  AllowOverride None
</Directory>
<Directory $d/www>
  Options FollowSymLinks
  AllowOverride $allow
  Require all granted
  $here
</Directory>
C
exec apache2 -D FOREGROUND -d "$d" -f "$d/conf"
