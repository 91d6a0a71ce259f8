import { cancellationSignal } from '@temporalio/activity';
import { createJudge, type JudgeDeps, type Reporter, settle } from './record-verdict.ts';
import { signedAttempt } from './signed-attempt.ts';

export function createAnswering(deps: JudgeDeps) {
  const { ledger } = deps;
  const judge = createJudge(deps);

  /**
   * Stores the signature and sends the attempt. Returns once a node shows it confirmed, it has ended, or
   * `withinMs` have passed; the database has the result.
   */
  return async function answerSoon(
    id: string,
    n: number,
    signature: string,
    withinMs: number,
  ): Promise<void> {
    const attempt = await signedAttempt(ledger, id, n, signature);
    if (attempt.state !== 'signed') return;
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), withinMs);
    const show: Reporter['show'] = ({ status }) => void (status === 'confirmed' && over.abort());
    const signal = AbortSignal.any([over.signal, cancellationSignal()]);
    try {
      const judgement = await judge(attempt, { begin: show, show }, signal);
      if (judgement !== null) await settle(deps, attempt, judgement);
    } catch (error) {
      if (!over.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}
