import random, sys, os
def body(i, r):
    a, b, c = r.randrange(3, 61), r.randrange(1, 1 << 20) | 1, r.randrange(1, 30)
    return (f"            case {i}: x = (x ^ (x >>> {a % 31 + 1})) * {b}L + {c}L; "
            f"x += (x << {c % 7 + 1}) ^ {b * 3}L; x ^= x >>> {c}; return x;\n")
def write(folder, per):
    r = random.Random(7)
    n = 240
    cases = [body(i, r) for i in range(n)]
    out = ["import java.util.zip.CRC32;\n\npublic final class Main {\n"]
    groups = [range(s, min(n, s + per)) for s in range(0, n, per)]
    for k, g in enumerate(groups):
        out.append(f"    static long apply{k}(int kind, long x) {{\n        switch (kind) {{\n")
        out += [cases[i] for i in g]
        out.append("            default: return x;\n        }\n    }\n\n")
    out.append("    static long apply(int kind, long x) {\n")
    if len(groups) == 1:
        out.append("        return apply0(kind, x);\n")
    else:
        out.append(f"        switch (kind / {per}) {{\n")
        for k in range(len(groups)):
            out.append(f"            case {k}: return apply{k}(kind, x);\n")
        out.append("            default: return x;\n        }\n")
    out.append("    }\n\n")
    out.append("""    static long page(byte[] buf, long x) {
        long h = x;
        for (int i = 0; i < buf.length; i++) {
            buf[i] += (byte) (h >>> (i & 31));
            h = h * 1099511628211L ^ buf[i];
        }
        return h;
    }

    public static void main(String[] a) {
        int n = Integer.parseInt(a[0]);
        byte[] buf = new byte[480];
        CRC32 crc = new CRC32();
        long x = 88172645463325252L;
        for (int i = 0; i < n; i++) {
            x = apply((int) ((x >>> 33) % 240), x);
            if ((i & 63) == 0) {
                x ^= page(buf, x);
                crc.update(buf);
            }
        }
        System.out.println(x + " " + crc.getValue());
    }
}
""")
    os.makedirs(folder, exist_ok=True)
    open(folder + "/Main.java", "w").write("".join(out))
write(sys.argv[1] + "/1", 40)
write(sys.argv[1] + "/2", 240)
