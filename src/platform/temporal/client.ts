import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.ts';

/** The number of the type Keyword in Temporal's API; every search attribute of Sluice has it. */
const KEYWORD = 2;

export interface TemporalSettings {
  readonly address: string;
  readonly namespace: string;
}

/** The part of a Temporal connection that knows about search attributes. */
export interface OperatorConnection {
  readonly operatorService: {
    listSearchAttributes(request: {
      namespace: string;
    }): Promise<{ customAttributes: Record<string, unknown> }>;
    addSearchAttributes(request: {
      namespace: string;
      searchAttributes: Record<string, number>;
    }): Promise<unknown>;
  };
}

/** A client of the server in the settings. Close the connection when done. Throws when nobody answers within ten seconds. */
export async function connectTemporal(
  settings: TemporalSettings,
  dataConverter: DataConverter = {},
): Promise<{ connection: Connection; client: Client }> {
  const connection = await Connection.connect({ address: settings.address, connectTimeout: '10s' });
  const client = new Client({
    connection,
    namespace: settings.namespace,
    dataConverter,
  });
  return { connection, client };
}

/** Registers what is not registered yet; a second call, also from another process at the same time, does nothing. */
export async function registerSearchAttributes(
  connection: OperatorConnection,
  namespace: string,
): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = SEARCH_ATTRIBUTES.filter((key) => !(key.name in customAttributes));
  if (missing.length === 0) return;
  const searchAttributes = Object.fromEntries(missing.map((key) => [key.name, KEYWORD]));
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  } catch (error) {
    const after = await connection.operatorService.listSearchAttributes({ namespace });
    if (!missing.every((key) => key.name in after.customAttributes)) throw error;
  }
}
