import os, sqlite3, sys
name = sys.argv[1]
for x in ("", "-journal", "-wal"):
    try: os.unlink(name + x)
    except FileNotFoundError: pass
db = sqlite3.connect(name, isolation_level=None)
db.execute("create table ledger (id integer primary key, who text, amount integer)")
batch = sys.argv[2] == "night"
if batch:
    db.execute("begin")
for i in range(80):
    db.execute("insert into ledger (who, amount) values (?, ?)", (f"customer {i % 17}", i * 3))
if batch:
    db.execute("commit")
print(db.execute("select sum(amount) from ledger").fetchone()[0])
x = 0
for i in range(4_000_000):
    x += i & 7
print(x)
