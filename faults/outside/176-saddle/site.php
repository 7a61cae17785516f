<?php
// site.php FOLDER: renders the pages of a site and sums up its log
[$_, $w] = $argv;
$deep = "$w/srv/www/customers/e/example/releases/2026/11/current/app/templates/default/parts";
$found = 0; $out = '';
for ($round = 0; $round < 110; $round++) {
    for ($i = 0; $i < 60; $i++) {
        $name = "$deep/part" . ($i * 7 % 60) . '.html';
        if (file_exists($name)) { $found++; if ($round % 8 == 0) $out .= file_get_contents($name); }
    }
}
$hits = []; $bytes = 0;
foreach (file("$w/log") as $line) {
    if (preg_match('~^(\d+\.\d+\.\d+\.\d+) - (\w+|-) \[([^\]]+)\] "(GET|POST|HEAD) ((?:/[\w.-]+)*/?)(?:\?([\w=&%-]*))? HTTP/1\.[01]" (\d{3}) (\d+|-) "([^"]*)" "(?:(?!bot|crawl|spider)[^"])*"$~i', $line, $m)) {
        $key = explode('/', $m[5])[1]; $hits[$key] = ($hits[$key] ?? 0) + 1; $bytes += (int)$m[8];
    }
}
foreach (file("$w/log") as $line) {
    if (preg_match('~(?:\b\w+(?:bot|crawler|spider|slurp)\b|select\s.+\sfrom|<script|\.\./|union\s+all|(?:wget|curl|python|libwww)/\d)~i', $line)) $bytes++;
}
ksort($hits);
$crc = 0; for ($i = 0; $i < 6000000; $i++) $crc = crc32("$crc $i");
echo $found, ' ', strlen($out), ' ', count($hits), ' ', $bytes, ' ', $crc, "\n";
