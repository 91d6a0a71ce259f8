import type { AttemptEvidence, ShownBlock } from '../client/client.ts';

/** Renders the evidence of a verdict, one line each, in request order: heights or nonces, blocks, statuses. */
export function renderEvidence(evidence: AttemptEvidence): readonly string[] {
  const { askedAt, judgedAt, lastHeight, finalizedHeights, finalizedNonces, statuses } = evidence;
  const confirmedBy = evidence.outcomeConfirmedBy;
  const heights = finalizedHeights.map(({ node, height }) => `${node} ${height}`);
  const nonces = finalizedNonces.map(({ node, nonce }) => `${node} ${nonce}`);
  const statusTexts = statuses.map(
    ({ node, seen, slot }) => `${node} ${slot === null ? seen : `${seen} in ${slot}`}`,
  );
  return [
    ...(askedAt === null
      ? []
      : [`asked ${askedAt}, judged ${judgedAt}; ${evidence.quorum} nodes must agree`]),
    ...(lastHeight === null ? [] : [heightsLine(lastHeight, heights)]),
    ...(nonces.length === 0 ? [] : [`finalized nonces: ${list(nonces)}`]),
    ...renderBlocks(evidence),
    ...(statusTexts.length === 0 ? [] : [`statuses: ${list(statusTexts)}`]),
    ...(confirmedBy.length === 0 ? [] : [`outcome confirmed by: ${list(confirmedBy)}`]),
  ];
}

export function renderDeadProof(proof: AttemptEvidence): string {
  const { lastHeight, finalizedHeights, nonceUsedBy, linkedBlocks, displacedBy, statuses } = proof;
  const absent = statuses.filter(({ seen }) => seen === 'absent').length;
  const absence = `${absent} of ${statuses.length} nodes do not have the transaction`;
  if (nonceUsedBy !== null) return `transaction ${nonceUsedBy.signature} used its nonce; ${absence}`;
  const past = finalizedHeights.filter(({ height }) => BigInt(height) > BigInt(lastHeight ?? 0)).length;
  const expiry = `${past} of ${finalizedHeights.length} nodes have finalized a block above its last valid height ${lastHeight}`;
  const blockEvidence = linkedBlocks ?? displacedBy;
  if (blockEvidence === null) return `${expiry}; ${absence}`;
  const blocks =
    'first' in blockEvidence
      ? `no linked block from ${blockEvidence.first.slot} to ${blockEvidence.last.slot} contains the transaction`
      : `a fork dropped the block with its blockhash in slot ${blockEvidence.slot}`;
  return `${expiry}; ${blocks}; ${absence}`;
}

function renderBlocks({ linkedBlocks, displacedBy, nonceUsedBy }: AttemptEvidence): readonly string[] {
  const lines: string[] = [];
  if (linkedBlocks !== null) {
    const { first, last, containsSignature } = linkedBlocks;
    const content = containsSignature ? 'contain its signature' : 'do not contain its signature';
    lines.push(`blocks ${describeBlock(first)} to ${describeBlock(last)} are linked and ${content}`);
  }
  if (displacedBy !== null)
    lines.push(
      `the finalized chain does not contain the block with its blockhash in slot ${displacedBy.slot}, but ${describeBlock(displacedBy.block)}`,
    );
  if (nonceUsedBy !== null)
    lines.push(`nonce used by transaction ${nonceUsedBy.signature} in slot ${nonceUsedBy.slot}`);
  return lines;
}

function describeBlock({ slot, blockhash, nodes }: ShownBlock): string {
  return `${slot} ${blockhash} (returned by ${list(nodes)})`;
}

/** `heights` is empty if nodes returned the outcome, which is then judged without heights. */
function heightsLine(lastHeight: string, heights: readonly string[]): string {
  const last = `last valid height ${lastHeight}`;
  return heights.length === 0 ? last : `${last}; finalized heights: ${list(heights)}`;
}

function list(parts: readonly string[]): string {
  return parts.length === 0 ? 'none' : parts.join(', ');
}
