#!/bin/bash
set -e
D=/var/tmp/c130; P=$D/shop/src/view/theme/base/part/cell/small; mkdir -p $P; cd $D; : > pids
for i in $(seq 40); do echo "<?php \$sum += $i; \$name = 'cell$i';" > $P/cell$i.php; done
cat > shop/main.php <<'X'
<?php
$sum=0; $name='';
$dir=__DIR__.'/src/view/theme/base/part/cell/small';
for($k=0;$k<190;$k++) for($i=1;$i<=40;$i++) include "$dir/cell$i.php";
mt_srand(7); $text='';
for($i=0;$i<9000;$i++){ $text.=dechex(mt_rand()).' user'.mt_rand(1,999).'@mail'.mt_rand(1,50).'.example.org "'.str_repeat('x',mt_rand(5,30)).'" '.mt_rand(1,1000000)."\n"; }
$n=0; $h='';
for($i=0;$i<900000;$i++) $h=md5($h.$i);
for($r=0;$r<70;$r++) foreach(explode("\n",$text) as $line){
  if(preg_match('/^(?:[0-9a-f]+)\s+(?<who>[a-z]+\d+)@(?:[a-z0-9]+\.)*org\s+"(?:[^"x]|x)*"\s+(\d+)$/',$line,$m)) $n+=strlen($m['who']);
}
echo $sum," ",$n,"\n";
X
cat > first.ini <<'X'
memory_limit = 256M
pcre.jit = 1
error_reporting = E_ALL
realpath_cache_size = 4096K
X
cat > second.ini <<X
memory_limit = 256M
pcre.jit = 0
open_basedir = $D/:/usr/share/php/:/tmp/
error_reporting = E_ALL
realpath_cache_size = 4096K
X
