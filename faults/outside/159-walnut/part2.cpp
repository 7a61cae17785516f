#include "all.hpp"
namespace part2 {
std::string join(const std::vector<std::string> &v) { std::string s; for (auto &x : v) { s += x; s += ','; } return s; }
std::map<std::string, int> count(const std::vector<std::string> &v) { std::map<std::string, int> m; for (auto &x : v) m[x]++; return m; }
void order(std::vector<int> &v) { std::sort(v.begin(), v.end(), [](int a, int b) { return a % 12 < b % 12; }); }
}
