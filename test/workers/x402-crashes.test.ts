import { describeCrashes } from './x402-crash-matrix.ts';

describeCrashes(['item', 'order', 'orderAgain'], { refundable: 2, void: 0 });
