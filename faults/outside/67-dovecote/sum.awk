{ b[$2] += $6; split($4, p, "/"); n[p[3]]++; if (index($4, "ff")) f++ }
END { for (h in b) t += b[h]; print t, f }
