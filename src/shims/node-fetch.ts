/*
 * Loads the dispatcher of Node.js's own fetch. Where the package undici is loaded before it, fetch uses that of the package, which
 * refuses a Content-Length of the caller's own, as @solana/kit sends it.
 */
new Headers();
