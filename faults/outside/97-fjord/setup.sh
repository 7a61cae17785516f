#!/bin/bash
set -e
D=/var/tmp/c97; mkdir -p $D; cd $D; : > pids
sqlite3 desk1.db >/dev/null <<'X'
PRAGMA journal_mode=off; PRAGMA synchronous=off;
CREATE TABLE ticket(id INTEGER PRIMARY KEY, customer INTEGER, state TEXT, subject TEXT, hours INTEGER);
INSERT INTO ticket SELECT value, (value*7919)%3000, CASE WHEN value%200=0 THEN 'open' WHEN value%7=0 THEN 'wait' ELSE 'done' END, 'subject of ticket '||value, value%40
 FROM generate_series(1,80000);
CREATE INDEX ticket_customer ON ticket(customer);
CREATE INDEX ticket_state ON ticket(state);
ANALYZE;
X
cp desk1.db desk2.db
sqlite3 desk1.db "UPDATE sqlite_stat1 SET stat='80000 27' WHERE idx='ticket_customer'; UPDATE sqlite_stat1 SET stat='80000 26667' WHERE idx='ticket_state';"
sqlite3 desk2.db "UPDATE sqlite_stat1 SET stat='120 30' WHERE idx='ticket_customer'; UPDATE sqlite_stat1 SET stat='120 2' WHERE idx='ticket_state';"
awk 'BEGIN{for(i=1;i<=5000;i++) printf "SELECT count(*),sum(hours) FROM ticket WHERE customer=%d AND state=\047open\047;\n",(i*37)%3000}' > report.sql
