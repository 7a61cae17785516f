SELECT YEAR(day) y, MONTH(day) m, COUNT(*), SUM(amount * (kind + 1)), MAX(CRC32(note)), SUM(note LIKE '%77%') FROM book GROUP BY y, m ORDER BY y, m;
SELECT COUNT(*), SUM(b.amount), MAX(c.id) FROM book b JOIN book c ON c.customer = b.customer AND c.id < b.id WHERE b.id < 6000;
SELECT day, COUNT(*), SUM(amount) FROM book WHERE note REGEXP '[13]7 of' GROUP BY day ORDER BY 3 DESC LIMIT 3;
