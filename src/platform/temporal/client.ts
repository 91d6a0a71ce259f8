import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.ts';

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API, the type of all our search attributes. */
const KEYWORD_TYPE = 2;

export interface TemporalSettings {
  readonly address: string;
  readonly namespace: string;
}

/**
 * Connects to the server; the caller must close the connection. Throws if the server does not answer within ten
 * seconds.
 */
export async function connectTemporal(
  settings: TemporalSettings,
  dataConverter: DataConverter = {},
): Promise<{ connection: Connection; client: Client }> {
  const connection = await Connection.connect({ address: settings.address, connectTimeout: '10s' });
  return { connection, client: new Client({ connection, namespace: settings.namespace, dataConverter }) };
}

/** Registers missing search attributes. Idempotent, even if other processes call it at the same time. */
export async function registerSearchAttributes(
  connection: Pick<Connection, 'operatorService'>,
  namespace: string,
): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = SEARCH_ATTRIBUTES.filter((key) => !(key.name in customAttributes));
  if (missing.length === 0) return;
  const searchAttributes = Object.fromEntries(missing.map((key) => [key.name, KEYWORD_TYPE]));
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  } catch (error) {
    const after = await connection.operatorService.listSearchAttributes({ namespace });
    if (!missing.every((key) => key.name in after.customAttributes)) throw error;
  }
}
