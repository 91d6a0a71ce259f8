import type { AttemptEvidence, ShownBlock } from '../client/client.ts';

/** Renders the evidence of a verdict, one line each, in request order: heights or nonces, blocks, statuses. */
export function renderEvidence(evidence: AttemptEvidence): readonly string[] {
  const { askedAt, judgedAt, lastHeight, finalizedHeights, finalizedNonces, statuses } = evidence;
  const shownBy = evidence.outcomeConfirmedBy;
  const heights = finalizedHeights.map(({ node, height }) => `${node} ${height}`);
  const nonces = finalizedNonces.map(({ node, nonce }) => `${node} ${nonce}`);
  const statusTexts = statuses.map(
    ({ node, seen, slot }) => `${node} ${slot === null ? seen : `${seen} in ${slot}`}`,
  );
  return [
    ...(askedAt === null ? [] : [`asked ${askedAt}, judged ${judgedAt}; ${evidence.quorum} must agree`]),
    ...(lastHeight === null ? [] : [heightsLine(lastHeight, heights)]),
    ...(nonces.length === 0 ? [] : [`finalized nonces: ${list(nonces)}`]),
    ...renderBlocks(evidence),
    ...(statusTexts.length === 0 ? [] : [`statuses: ${list(statusTexts)}`]),
    ...(shownBy.length === 0 ? [] : [`outcome confirmed by: ${list(shownBy)}`]),
  ];
}

export function renderDeath(proof: AttemptEvidence): string {
  const { lastHeight, finalizedHeights, nonceUsedBy, linkedBlocks, displacedBy, statuses } = proof;
  const absent = statuses.filter(({ seen }) => seen === 'absent').length;
  const absence = `${absent} of ${statuses.length} nodes have no trace of it`;
  if (nonceUsedBy !== null) return `${nonceUsedBy.signature} used up its nonce; ${absence}`;
  const past = finalizedHeights.filter(({ height }) => BigInt(height) > BigInt(lastHeight ?? 0)).length;
  const over = `${past} of ${finalizedHeights.length} nodes are final above its last height ${lastHeight}`;
  const where = linkedBlocks ?? displacedBy;
  if (where === null) return `${over}; ${absence}`;
  const blocks =
    'first' in where
      ? `no linked block from ${where.first.slot} to ${where.last.slot} holds it`
      : `the block of its blockhash was dropped by a fork in slot ${where.slot}`;
  return `${over}; ${blocks}; ${absence}`;
}

function renderBlocks({ linkedBlocks, displacedBy, nonceUsedBy }: AttemptEvidence): readonly string[] {
  const lines: string[] = [];
  if (linkedBlocks !== null) {
    const { first, last, holdsSignature } = linkedBlocks;
    const found = holdsSignature ? 'hold its signature' : 'lack its signature';
    lines.push(`blocks ${nameOf(first)} to ${nameOf(last)} are linked and ${found}`);
  }
  if (displacedBy !== null)
    lines.push(`slot ${displacedBy.slot} of its blockhash was taken by ${nameOf(displacedBy.block)}`);
  if (nonceUsedBy !== null)
    lines.push(`nonce used up by ${nonceUsedBy.signature} in slot ${nonceUsedBy.slot}`);
  return lines;
}

function nameOf({ slot, blockhash, nodes }: ShownBlock): string {
  return `${slot} ${blockhash} (shown by ${list(nodes)})`;
}

/** An outcome that nodes returned needs no heights. */
function heightsLine(lastHeight: string, heights: readonly string[]): string {
  const last = `last height ${lastHeight}`;
  return heights.length === 0 ? last : `${last}; finalized heights: ${list(heights)}`;
}

function list(parts: readonly string[]): string {
  return parts.length === 0 ? 'none' : parts.join(', ');
}
