/*
 * Loads the dispatcher of Node.js's own fetch. If the package undici were loaded first, fetch would use that package's
 * dispatcher, which refuses the Content-Length header that @solana/kit sets.
 */
new Headers();
