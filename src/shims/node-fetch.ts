/*
 * Loads the dispatcher of Node.js's own fetch. If the package undici is loaded first, fetch uses that package's
 * dispatcher, which refuses a Content-Length header set by the caller, as @solana/kit sets it.
 */
new Headers();
