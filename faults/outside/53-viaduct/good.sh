#!/bin/sh
cd "$(dirname "$0")" || exit 3
./watch other & p=$!
trap 'kill $p; wait $p 2>/dev/null' EXIT
perl -e 'my %n; for my $r (1..12) { for my $f (<docs/*>) { open my $h, "<", $f or die; while (<$h>) { $n{$_ % 101}++ } } } print scalar(keys %n), "\n"'
