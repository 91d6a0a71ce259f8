import { afterAll, beforeAll, expect, test } from 'vitest';
import { openService, type Service } from './service.ts';

let service: Service;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

const get = (url: string) => service.app.inject({ url });

test('the reference page needs no key and loads nothing from other hosts', async () => {
  const page = await get('/docs/');
  expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  const loaded = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = '']) => url);
  expect(loaded.length).toBeGreaterThan(3);
  for (const url of loaded) {
    const { host, pathname } = new URL(url, 'http://sluice.test/docs/');
    expect([url, host, (await get(pathname)).statusCode]).toEqual([url, 'sluice.test', 200]);
  }
  // Inline scripts would need their hash in the policy.
  expect(page.body).not.toMatch(/<script(?![^>]*\ssrc=)/);
});

test('the reference page allows no script, frame or request of another host', async () => {
  const policy = String((await get('/docs/')).headers['content-security-policy']);
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    "connect-src 'self'",
    "frame-ancestors 'none'",
  ])
    expect(policy).toContain(rule);
  expect(policy).not.toMatch(/unsafe|https?:/);
});

test('the reference page shows the OpenAPI document, and is not part of it', async () => {
  const shown = (await get('/docs/json')).json();
  expect(shown).toEqual((await get('/openapi.json')).json());
  expect(Object.keys(shown.paths).filter((path) => path.startsWith('/docs'))).toEqual([]);
});
