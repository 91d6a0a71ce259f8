import { describeCrashes } from './x402-crash-matrix.ts';

describeCrashes(['example', 'submitted', 'first', 'firstOrder', 'facilitator', 'facilitatorOnce'], {
  refundable: 0,
  void: 1,
});
