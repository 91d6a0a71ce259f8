// Loaded with --import into a program: bigint-buffer finds no bindings, as where npm runs no install scripts.
import Module from 'node:module';

const extensions = /** @type {Record<string, (module: unknown, file: string) => void>} */ (
  Reflect.get(Module, '_extensions')
);
const load = extensions['.node'];
extensions['.node'] = (module, file) => {
  if (file.includes('bigint')) throw new Error(`${file} is not compiled`);
  load?.(module, file);
};
