// Import @solana/spl-token only through this module: it loads bigint-buffer, whose warning is suppressed here.
import { restoreWarnings } from './bigint-buffer-warning.ts';

export * from '@solana/spl-token';

restoreWarnings();
