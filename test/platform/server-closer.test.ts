import { once } from 'node:events';
import { connect } from 'node:net';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { serverCloser } from '../../src/platform/server-closer.ts';

it('a connection without a request does not keep a server from closing, and a request in progress is answered', async () => {
  const app = Fastify();
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  app.get('/', async () => {
    await answered;
    return 'answer';
  });
  const close = serverCloser(app);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const port = Number(new URL(url).port);
  const unused = connect(port, '127.0.0.1');
  const used = connect(port, '127.0.0.1');
  const read: string[] = [];
  used.on('data', (data) => read.push(String(data)));
  const arrived = once(app.server, 'request');
  used.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await Promise.all([arrived, once(unused, 'connect')]);

  const isEnded = Promise.all([once(unused, 'close'), once(used, 'close')]);
  const closed = close();
  answer();
  await Promise.all([closed, isEnded]);
  expect(read.join('')).toMatch(/^HTTP\/1.1 200 OK.*answer$/s);
});
