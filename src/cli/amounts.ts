import { SluiceError } from '../client/client.ts';
import { LAMPORT_DECIMALS } from '../domain/amount.ts';
import { type Connection, connect } from './connection.ts';
import { UsageError } from './exit.ts';

const DECIMAL = /^(\d{1,20})(?:\.(\d+))?$/;

export interface DecimalAmount {
  readonly amount: string;
  readonly asset: string;
  /** The option of the command line, which errors name. */
  readonly option: string;
}

/** Converts a decimal amount to base units, with the decimals from the API. */
export async function toUnits(
  { amount, asset, option }: DecimalAmount,
  connection: Connection,
): Promise<string> {
  const [, whole, fraction = ''] = DECIMAL.exec(amount) ?? [];
  if (whole === undefined)
    throw new UsageError(`${option} must be a decimal number such as 1.5, not ${amount}`);
  const decimals = asset === 'SOL' ? LAMPORT_DECIMALS : await decimalsOf(asset, option, connection);
  if (fraction.length > decimals)
    throw new UsageError(
      `${option} must have at most ${decimals} digits after the point for ${asset}, not ${amount}`,
    );
  return BigInt(whole + fraction.padEnd(decimals, '0')).toString();
}

async function decimalsOf(asset: string, option: string, connection: Connection): Promise<number> {
  try {
    return (await connect(connection).assets.get(asset)).decimals;
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== 'NotFound') throw error;
    throw new UsageError(
      `${option} needs the decimals of ${asset}, which is not listed: give base units, or list it with \`sluice assets set ${asset}\``,
    );
  }
}
