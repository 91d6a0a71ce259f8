import { request } from 'node:http';
import { inject } from 'vitest';

/** Asks the global setup for the address of a shared service, which may have to be started (or, once, built) first. */
export async function sharedService<T>(name: 'postgres' | 'template' | 'temporal' | 'workflows'): Promise<T> {
  return new Promise((resolve, reject) => {
    const call = request(`${inject('servicesUrl')}/${name}`, (response) => {
      const chunks: string[] = [];
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => chunks.push(chunk));
      response.on('end', () => {
        const body = chunks.join('');
        if (response.statusCode === 200) resolve(JSON.parse(body) as T);
        else reject(new Error(body));
      });
    });
    call.on('error', reject);
    call.end();
  });
}
