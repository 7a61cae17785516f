import os, sys
w = sys.argv[1] + "/app"
os.makedirs(w + "/lib", exist_ok=True)
for i in range(228):
    b = [f"<?php\nnamespace Shop;\nfinal class Part{i} {{\n    const TITLE = 'part {i}';\n"]
    for k in range(14):
        b.append(f"    public static function step{k}(array $in): array {{\n        $out = [];\n        foreach ($in as $key => $value) {{\n"
                 f"            if ($value > {k * 3 + i % 7}) {{ $out[$key . '-{k}'] = $value * {k + 2} + strlen((string) $key); }}\n"
                 f"            elseif ($value === {k}) {{ $out['same{k}'] = self::TITLE . ' {i}-{k}'; }}\n            else {{ $out[] = $key ^ {i}; }}\n        }}\n        return $out;\n    }}\n")
    b.append("}\n")
    open(f"{w}/lib/Part{i}.php", "w").write("".join(b))
open(w + "/page.php", "w").write("""<?php
for ($i = 0; $i < 228; $i++) require __DIR__ . "/lib/Part$i.php";
$n = 0;
for ($i = 0; $i < 50000; $i++) $n = ($n * 31 + $i) % 65521;
echo "page $n ", Shop\\Part7::TITLE, "\\n";
""")
