import type { KindTexts } from './attempt-progress.ts';

/** Texts for operators about withdrawals, which have a customer, a receiver and the hot wallet. */
export const WITHDRAWAL_TEXTS: KindTexts = {
  waitsFor: {
    awaiting_confirmation: 'the customer: `confirmDestination` or `cancelWithdrawal`',
    awaiting_funds: 'SOL or tokens in the hot wallet; the withdrawal then continues automatically',
    preparing: 'the signer',
    finalized: 'nothing: it is paid, and this is final',
    rejected: 'nothing: it is not paid, and no transaction can pay it',
    cancelled: 'nothing: it is not paid, and no transaction can pay it',
    failed: 'nothing: its transaction failed on chain and paid nothing',
    dead: 'nothing: its transaction is proved dead and paid nothing',
  },
  nextSteps: {
    awaiting_confirmation:
      '`sluice withdrawals confirm <id>` pays the wallet as it is; `sluice withdrawals cancel <id>` ends the withdrawal',
    awaiting_funds: 'fund the hot wallet; the withdrawal then continues automatically',
    preparing:
      'the signer signs, and a worker sends; if the state does not change, start a signer on task queue `sluice-signer` or a chain worker',
  },
  nextStepsOfHolds: {
    hot_account_frozen:
      'ask the issuer to thaw the token account of the hot wallet; the withdrawal then continues automatically',
    mint_paused: 'wait until the issuer resumes the mint; the withdrawal then continues automatically',
    default_frozen:
      'the customer opens a token account and asks the issuer to thaw it; the withdrawal then continues automatically',
    account_frozen:
      'the customer asks the issuer to thaw the token account; the withdrawal then continues automatically',
    confidential_only:
      'the customer enables non-confidential transfers of the token account; the withdrawal then continues automatically',
    mint_changed:
      'find out why the mint differs from its listing; the withdrawal continues once both match again; otherwise cancel it',
    maybe_paid:
      'check whether the receiver is paid: if so, `sluice settlements mark-paid <id> --reason <text>`; if not, `sluice alerts close --kind maybe_paid --subject <id> --reason <text>`',
  },
  nextStepOfDeadAttempt: 'nothing: a worker records the proof and composes the next attempt',
};
