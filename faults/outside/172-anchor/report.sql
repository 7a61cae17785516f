SELECT o.region, count(*), sum((l.x->>'qty')::int), sum(s.price * (l.x->>'qty')::int), avg(o.weight), max(o.total),
       sum(CASE WHEN o.status = 'back' THEN -o.total ELSE o.total END), max(n.x)
FROM orders o CROSS JOIN LATERAL jsonb_array_elements(o.lines) l(x) CROSS JOIN LATERAL regexp_split_to_table(o.notes[1], ';') n(x)
JOIN skus s ON s.sku = (l.x->>'sku')::int
WHERE o.status <> 'new' AND o.weight < 140 GROUP BY o.region HAVING sum(o.total) > 100 ORDER BY 4 DESC;
SELECT s.name, count(*) FILTER (WHERE o.status = 'sent'), sum((l.x->>'qty')::int * s.price) - min(o.total), stddev(o.weight)
FROM orders o CROSS JOIN LATERAL jsonb_array_elements(o.lines) l(x) CROSS JOIN LATERAL regexp_split_to_table(o.notes[1], ';') n(x)
JOIN skus s ON s.sku = (l.x->>'sku')::int
WHERE o.region IN (1, 3, 5, 7) AND (l.x->>'qty')::int > 1 AND n.x <> 'note 7' GROUP BY s.name ORDER BY 3 DESC, 1 LIMIT 5;
