// The only import of @solana/spl-token, which loads bigint-buffer and would print its warning.
import { restoreWarnings } from './bigint-buffer-warning.ts';

export * from '@solana/spl-token';

restoreWarnings();
