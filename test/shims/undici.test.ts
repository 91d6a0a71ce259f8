import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

// In a process of its own: here another file may have used fetch before.
const SENT_WITH_ITS_LENGTH = `
  import { createServer } from 'node:http';
  import ${JSON.stringify(import.meta.resolve('../../src/shims/undici.ts'))};
  const server = createServer((_request, response) => response.end('taken')).listen(0, '127.0.0.1', async () => {
    const url = 'http://127.0.0.1:' + server.address().port;
    const sent = { method: 'POST', body: '{}', headers: { 'Content-Length': '2' } };
    console.log(await fetch(url, sent).then((answer) => answer.text(), (error) => String(error.cause)));
    server.close();
  });`;

it("leaves Node.js's own fetch as it is, which takes a length that its caller gives", async () => {
  const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '-e', SENT_WITH_ITS_LENGTH];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toBe('taken\n');
});
