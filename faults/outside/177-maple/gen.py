import random, sys
r = random.Random(11)
k = int(sys.argv[1])
print("SET sql_log_bin=0; SET autocommit=0;")
def table(name, rows, extra=""):
    print(f"CREATE TABLE {name} (id INT PRIMARY KEY, customer INT NOT NULL, day DATE NOT NULL, kind TINYINT NOT NULL, amount DECIMAL(9,2) NOT NULL, note VARCHAR(60){extra}) ENGINE=InnoDB;")
    for s in range(0, rows, 1000):
        print(f"INSERT INTO {name} (id, customer, day, kind, amount, note) VALUES " + ",".join(
            f"({i},{r.randrange(4000)},'2026-{r.randrange(1,13):02d}-{r.randrange(1,29):02d}',{r.randrange(9)},{r.randrange(10**6)/100},'entry number {i} of the book')"
            for i in range(s, s + 1000)) + ";")
table("book", 120000)
print("CREATE INDEX by_customer ON book (customer);")
if k == 2:
    print("CREATE INDEX by_amount ON book (amount); CREATE INDEX by_note ON book (note(12)); CREATE INDEX by_kind ON book (kind, amount);")
    for j in range(200):
        print(f"CREATE TABLE old_{j} (id INT PRIMARY KEY, x INT, y VARCHAR(30), KEY (x)) ENGINE=InnoDB; INSERT INTO old_{j} VALUES (1,2,'z'),(2,3,'y');")
    print("CREATE TRIGGER book_t BEFORE INSERT ON book FOR EACH ROW SET NEW.note = TRIM(NEW.note);")
    print("CREATE VIEW v_book AS SELECT * FROM book WHERE kind < 5;")
print("COMMIT; ANALYZE TABLE book;")
