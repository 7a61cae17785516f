<?php
ini_set('memory_limit', '512M');
function sieve($n) { $f = array_fill(0, $n + 1, true); for ($i = 2; $i * $i <= $n; $i++) if ($f[$i]) for ($j = $i * $i; $j <= $n; $j += $i) $f[$j] = false; $c = 0; for ($i = 2; $i <= $n; $i++) if ($f[$i]) $c++; return $c; }

function words($n) { $m = []; for ($i = 0; $i < $n; $i++) { $w = 'w' . (($i * 7919) % 3001); $m[$w] = ($m[$w] ?? 0) + 1; } ksort($m); return md5(json_encode($m)); }

function lines($n) { $s = 0; for ($i = 0; $i < $n; $i++) { $p = explode(',', "a,$i,b," . ($i * 3)); $s += (int)$p[1] + strlen(implode(';', $p)); } return $s; }

function mix($n) { $x = 1; for ($i = 0; $i < $n; $i++) { $x = ($x * 1103515245 + 12345) & 0x7fffffff; } return $x; }

printf("%s %s %s %s\n", sieve(3000000), words(3000000), lines(2000000), mix(24000000));
