/** The version in package.json, from which test/cli/help.test.ts does not let it differ. */
export const VERSION = '0.1.0';
