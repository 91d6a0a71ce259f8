// Preloaded by NODE_OPTIONS: at the end of the process the file that LOADED_PACKAGES names gets the packages it has loaded.
// The packages that a test asks for are CommonJS, which an import keeps in this cache as well.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { cache } = createRequire(import.meta.url);

process.once('exit', () => {
  const packages = Object.keys(cache).flatMap(
    (path) => /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(path)?.[1] ?? [],
  );
  writeFileSync(process.env.LOADED_PACKAGES ?? '', JSON.stringify([...new Set(packages)]));
});
