// checks the lines of a customer file against a pattern from rules.json
const fs = require('fs');
const rule = new RegExp(JSON.parse(fs.readFileSync(process.argv[2])).address);
const lines = fs.readFileSync('customers.txt', 'utf8').split('\n');
let ok = 0;
for (let r = 0; r < 50; r++)
  for (const l of lines) if (rule.test(l)) ok++;
console.log(ok);
