// `node scripts/tally.mjs <vitest-report.json> <step>=<exit code|skipped>…`: the closing line of CI and its exit code.
// The step `tests` counts as the tests of the report, every other one as one.
import { readFileSync } from 'node:fs';

const [report = '', ...steps] = process.argv.slice(2);
let passed = 0;
let failed = 0;
try {
  const { numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(readFileSync(report, 'utf8'));
  passed = numPassedTests;
  // A file that cannot be loaded fails as a suite without a failed test.
  failed = Math.max(numFailedTests, numFailedTestSuites > 0 ? 1 : 0);
} catch {
  failed = 1;
}
for (const step of steps) {
  const [name, code] = step.split('=');
  if (code === 'skipped') continue;
  if (name === 'tests') {
    if (code !== '0' && failed === 0) failed = 1;
  } else if (code === '0') passed += 1;
  else failed += 1;
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exit(failed === 0 ? 0 : 1);
