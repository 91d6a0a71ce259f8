// The only import of @solana/spl-token: it loads bigint-buffer, whose warning no program of ours prints.
import { restoreWarnings } from './bigint-buffer-warning.ts';

export * from '@solana/spl-token';

restoreWarnings();
