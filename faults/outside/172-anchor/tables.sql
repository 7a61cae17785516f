CREATE TABLE orders (id int PRIMARY KEY, region int, status text, total numeric(10,2), weight float8, lines jsonb, notes text[]);
INSERT INTO orders SELECT i, i % 12, (ARRAY['new','paid','sent','back'])[i % 4 + 1], (i * 37 % 9000) / 10.0, (i % 500) * 0.3,
  ('[{"sku":' || i % 300 || ',"qty":' || i % 5 + 1 || '}]')::jsonb, ARRAY['note ' || i % 90] FROM generate_series(1, 85000) i;
CREATE TABLE skus (sku int PRIMARY KEY, name text, price numeric(10,2));
INSERT INTO skus SELECT i, 'sku ' || i, i * 1.1 FROM generate_series(0, 299) i;
VACUUM ANALYZE;
