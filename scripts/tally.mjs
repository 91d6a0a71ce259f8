// `node scripts/tally.mjs <step>=<exit code|skipped>[@<vitest-report.json>]…`: prints a line for each step and the total of CI; sets the exit code.
// A step with a report counts the tests of that report; every other step counts as one test.
import { readFileSync } from 'node:fs';

/** @param {string} code @param {string} report @returns {[passed: number, failed: number]} */
function countOf(code, report) {
  try {
    const { numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(readFileSync(report, 'utf8'));
    // A file that cannot be loaded fails as a suite without a failed test; an unhandled rejection fails no test at all.
    const failed = Math.max(numFailedTests, numFailedTestSuites > 0 || code !== '0' ? 1 : 0);
    return [numPassedTests, failed];
  } catch {
    return [0, 1];
  }
}

let passed = 0;
let failed = 0;
for (const step of process.argv.slice(2)) {
  const [name, result = ''] = step.split('=');
  const [code = '', report] = result.split('@');
  if (code === 'skipped') {
    process.stdout.write(`${name}: skipped\n`);
    continue;
  }
  const [more, less] =
    report === undefined ? [Number(code === '0'), Number(code !== '0')] : countOf(code, report);
  process.stdout.write(`${name}: ${more} passed, ${less} failed\n`);
  passed += more;
  failed += less;
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exit(failed === 0 ? 0 : 1);
