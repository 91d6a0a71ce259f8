/** Equals the version in package.json: test/cli/help.test.ts checks it. */
export const VERSION = '0.1.0';
