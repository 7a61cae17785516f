#!/bin/bash
cd /var/tmp/c116 || exit 1
ruby --disable-gems sum.rb > out/sum
openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt pass:secret -kdfopt salt:salt1234 -kdfopt iter:900000 PBKDF2 > out/key
openssl dgst -sha512 in/f1 in/f2 in/f3 in/f4 > out/dig
