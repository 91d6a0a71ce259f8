// Preloaded by NODE_OPTIONS: at its end the process writes the packages that it loaded to the file that LOADED_PACKAGES names.
// The packages that the test looks for are CommonJS; an import also puts them into this cache.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { cache } = createRequire(import.meta.url);

process.once('exit', () => {
  const packages = Object.keys(cache).flatMap(
    (path) => /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(path)?.[1] ?? [],
  );
  writeFileSync(process.env.LOADED_PACKAGES ?? '', JSON.stringify([...new Set(packages)]));
});
