import { expect, test } from 'vitest';
import { createLogger, temporalLogger } from '../../src/platform/logging.ts';

function recorder(): { lines: Record<string, unknown>[]; destination: { write(line: string): void } } {
  const lines: Record<string, unknown>[] = [];
  return { lines, destination: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) } };
}

test('the logger redacts secrets by their names', () => {
  const { lines, destination } = recorder();
  const logger = createLogger({ level: 'info', name: 'test', destination });
  logger.info(
    { apiKey: 'k', request: { headers: { authorization: 'Bearer k' } }, wallet: { secretKey: [1] }, id: 'w' },
    'x',
  );
  expect(lines[0]).toMatchObject({
    name: 'test',
    apiKey: '[redacted]',
    request: { headers: { authorization: '[redacted]' } },
    wallet: { secretKey: '[redacted]' },
    id: 'w',
  });
});

test('the Temporal SDK logs through our logger, level by level', () => {
  const { lines, destination } = recorder();
  const logger = temporalLogger(createLogger({ level: 'info', name: 'test', destination }));
  logger.debug('not this');
  logger.log('WARN', 'this', { workflowId: 'withdrawal/w' });
  expect(lines).toEqual([expect.objectContaining({ level: 40, msg: 'this', workflowId: 'withdrawal/w' })]);
});
