import type { Headline, OneWalletReport, Report } from './report.ts';
import type { RoundPair, Rounds } from './rounds.ts';
import type { Side } from './side.ts';

type Row = readonly (string | number)[];

/** The readable report: tables with units and aims. Ratios are ours divided by theirs. */
export function renderReport(report: Report): string {
  const { many, oneWallet, idle, faults, chain } = report;
  const lines = [
    `Our gateway, and the official express server with the official facilitator, by turns on one chain (${chain}).`,
    'A payment is answered when it is confirmed. It is final when its block is finalized and nothing remains to do.',
  ];
  if (many !== null) {
    const { levels, sustained } = many;
    lines.push('', ...headlineTable(report));
    for (const { inFlight, ours, theirs, ...rounds } of levels)
      lines.push('', ...sides(`${inFlight} in flight`, ours, theirs), '', ...roundTable(rounds));
    const { ours, theirs, ...turns } = sustained;
    lines.push('', ...sides('64 in flight, sustained', ours, theirs), '', ...roundTable(turns));
  }
  if (oneWallet !== null) lines.push('', ...oneWalletTable(oneWallet));
  lines.push(
    '',
    `Without payments our processes use ${idle.cpuMsPerSecond} ms CPU and ${idle.rpcPerSecond} RPC calls a second; the chain worker makes ${idle.besideRpcPerSecond} more calls.`,
    `Theirs use ${idle.peerCpuMsPerSecond} ms and ${idle.peerRpcPerSecond} calls. A slot takes ${idle.slotMs} ms.`,
  );
  for (const [what, part] of Object.entries({ 'many wallets': many, 'one wallet': oneWallet }))
    for (const [seller, { made, sold, finalized }] of Object.entries(part?.accounts ?? {}))
      lines.push(`Payments of ${what}, ${seller}: ${made} made, ${sold} served, ${finalized} finalized.`);
  return [...lines, ...faults.map((fault) => `FAULT ${fault}`)].join('\n');
}

const HEADLINE: readonly (readonly [key: keyof Headline, what: string, aim: string])[] = [
  ['p50Ratio', 'latency, median, 1 in flight', '<= 1.0'],
  ['p95Ratio', 'latency, 95th percentile, 1 in flight', '<= 1.1'],
  ['p50Ratio16', 'latency, median, 16 in flight', ''],
  ['throughputRatio16', 'payments a second, 16 in flight', '>= 1.0'],
  ['throughputRatio64', 'payments a second, 64 in flight', '>= 1.0'],
  ['sustainedRatio64', 'payments a second, 64 in flight, sustained', '>= 0.9'],
  ['cpuRatio', 'CPU a payment until the answer, 64 in flight', ''],
  ['cpuRatioToFinal', 'CPU a payment until final, sustained', '<= 1.8'],
  ['machineCpuRatioToFinal', 'the same with chain and driver', ''],
  ['rpcCallsPerPayment', 'our RPC calls a payment until the answer, 16 in flight', '<= 2.2'],
  ['rpcCallsToFinal', 'our RPC calls a payment until final, 16 in flight', '<= 3.2'],
  ['notificationsPerPayment', 'our notifications a payment until the answer, 16 in flight', ''],
];

function headlineTable(report: Report): readonly string[] {
  const rows = HEADLINE.map(([key, what, aim]) => [key, report[key] ?? '', aim, what]);
  return table(['figure', 'value', 'aim', 'ours divided by theirs, or counts'], rows);
}

function sides(title: string, ours: Side, theirs: Side): readonly string[] {
  const rows: Row[] = [
    figures('payments, and of them served', ours, theirs, ({ payments, served }) => `${payments}, ${served}`),
    figures('served payments a second', ours, theirs, ({ perSecond }) => perSecond),
    figures('latency, median (ms)', ours, theirs, ({ p50Ms }) => p50Ms),
    figures('latency, 95th percentile (ms)', ours, theirs, ({ p95Ms }) => p95Ms),
    figures('RPC calls a payment until the answer', ours, theirs, (side) => side.untilAnswer.rpcCalls),
    figures('RPC calls a payment until final', ours, theirs, (side) => side.untilFinal.rpcCalls),
    figures('notifications a payment until final', ours, theirs, (side) => side.untilFinal.notifications),
    figures('CPU a payment until the answer (ms)', ours, theirs, (side) => side.untilAnswer.cpuMs),
    figures('CPU a payment until final (ms)', ours, theirs, (side) => side.untilFinal.cpuMs),
    figures('  and with chain and driver (ms)', ours, theirs, (side) => side.untilFinal.machineCpuMs),
    ...processRows(ours, theirs),
  ];
  const notServed = Object.entries({ ours, theirs }).flatMap(([seller, side]) =>
    Object.entries(side.notServed).map(([answer, count]) => `  ${seller}: ${count} x ${answer}`),
  );
  return [...table([title, 'ours', 'theirs'], rows), ...notServed];
}

/** Ours, theirs and their ratio, by round: a trend shows code that was still cold. */
function roundTable({ rounds, noise }: Rounds): readonly string[] {
  const row = (what: string | number, { ours, theirs, ratio }: RoundPair): Row => [
    what,
    ...(['perSecond', 'p50Ms', 'cpuMs'] as const).map(
      (figure) => `${ours[figure]}, ${theirs[figure]}, ${ratio[figure]}`,
    ),
  ];
  const rows = rounds.map((pair, index) => row(index + 1, pair));
  const head = ['ours, theirs, ratio', 'served a second', 'median (ms)', 'CPU until the answer (ms)'];
  return table(head, noise === null ? rows : [...rows, row('noise', noise)]);
}

function figures(what: string, ours: Side, theirs: Side, figure: (side: Side) => string | number): Row {
  return [what, figure(ours), figure(theirs)];
}

function processRows(ours: Side, theirs: Side): readonly Row[] {
  const [own, peer] = [ours.untilFinal.cpuMsByProcess, theirs.untilFinal.cpuMsByProcess];
  const names = [...new Set([...Object.keys(own), ...Object.keys(peer)])];
  return names.map((name) => [`  of it ${name} (ms)`, own[name] ?? '', peer[name] ?? '']);
}

function oneWalletTable({ levels }: OneWalletReport): readonly string[] {
  const rows = levels.flatMap(({ inFlight, ours, theirs }) =>
    Object.entries({ ours, theirs }).map(([seller, { sold, of, perSecond, p50Ms, p95Ms }]) => [
      `${inFlight} in flight, ${seller}`,
      `${sold} of ${of}`,
      perSecond,
      p50Ms,
      p95Ms,
    ]),
  );
  const notSold = levels.flatMap(({ inFlight, ours, theirs }) =>
    Object.entries({ ours, theirs }).flatMap(([seller, side]) =>
      Object.entries(side.notSold).map(([answer, count]) => `  ${inFlight}, ${seller}: ${count} x ${answer}`),
    ),
  );
  const head = ['one wallet, one target', 'sold', 'a second', 'median (ms)', '95th percentile (ms)'];
  return [...table(head, rows), ...notSold];
}

function table(head: Row, rows: readonly Row[]): readonly string[] {
  const all = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_cell, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
