import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

/** The source of a file that `npm run build` makes: its tree is that of `src`. */
const sourceOf = (built: string): URL =>
  new URL(built.replace(/^(\.\/)?dist\//, '../../src/').replace(/(\.d\.ts|\.js)$/, '.ts'), import.meta.url);

it('package.json exports only files whose sources exist', async () => {
  const { bin, exports } = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as {
    bin: { sluice: string };
    exports: { './client': { types: string; default: string } };
  };
  expect(await readFile(sourceOf(bin.sluice), 'utf8')).toMatch(/^#!/);
  const { types, default: client } = exports['./client'];
  expect(sourceOf(types).href).toBe(sourceOf(client).href);
  expect(await import(sourceOf(client).href)).toHaveProperty('SluiceClient');
});
