#!/bin/bash
cd "/var/tmp/c116/night batch" || exit 1
bin/sealer dgst -sha512 ../in/f4 ../in/f3 ../in/f2 ../in/f1 > ../out/dig2
env BATCH=night bin/sealer kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt pass:secret -kdfopt salt:salt1234 -kdfopt iter:900000 PBKDF2 > ../out/key2
ruby --disable-gems bin/aggregate.rb > ../out/sum2
cat ../out/dig2 ../out/sum2 > ../out/all2
