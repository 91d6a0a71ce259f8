import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  ACKNOWLEDGED_ALERTS,
  ALERT_KINDS,
  ALERTS_CLOSED_WITH_REASON,
  runbookOf,
} from '../../src/domain/alerts.ts';
import { ROOT, textOf } from './pages.ts';

const SECTIONS = ['## What it means', '## What to do', '## How it ends'];
const INDEX = 'README.md';

it('every alert kind has a runbook, and every runbook belongs to an alert kind', () => {
  const files = readdirSync(new URL('docs/runbooks/', ROOT)).filter((name) => name !== INDEX);
  expect(files.map((name) => `docs/runbooks/${name}`).toSorted()).toEqual(
    ALERT_KINDS.map(runbookOf).toSorted(),
  );
});

it.each(ALERT_KINDS)('the runbook of %s has its three sections: meaning, action and end', (kind) => {
  const text = textOf(runbookOf(kind));
  expect(text.startsWith(`# \`${kind}\`\n`)).toBe(true);
  expect([...text.matchAll(/^## .+$/gm)].map(([heading]) => heading)).toEqual(SECTIONS);
});

it.each(ACKNOWLEDGED_ALERTS)('the runbook of %s names the command that closes it', (kind) => {
  expect(textOf(runbookOf(kind))).toContain('sluice alerts acknowledge ');
});

it.each(ALERTS_CLOSED_WITH_REASON)('the runbook of %s names the command that closes it', (kind) => {
  expect(textOf(runbookOf(kind))).toContain(`sluice alerts close --kind ${kind} `);
});
