import { openLedger } from '../../src/ledger/ledger.ts';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { serveGateway } from '../../src/platform/roles/x402-gateway.ts';
import { Closers } from '../../src/platform/shutdown.ts';
import { connectTemporal } from '../../src/platform/temporal/client.ts';
import { Chain } from '../../src/solana/chain.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { killAtCrashPoint } from './crash-point.ts';

/** The real gateway whose services can kill it: `payments` and `obligations` of the ledger, `workflow` of the Temporal client. It ends only at its crash point. */
const config = readConfigOrExit(process.env, 'api');
const { temporalAddress: address, temporalNamespace: namespace, rpcUrls = [], x402Routes = '' } = config;
const ledger = await openLedger(config.databaseUrl);
const { client } = await connectTemporal({ address, namespace });
await serveGateway(
  { ...config, x402Routes },
  {
    ledger: {
      ...ledger,
      payments: killAtCrashPoint(ledger.payments, 'payments'),
      obligations: killAtCrashPoint(ledger.obligations, 'obligations'),
    },
    temporal: Object.create(client, { workflow: { value: killAtCrashPoint(client.workflow, 'workflow') } }),
    chain: new Chain(await openNodePool(rpcUrls)),
    logger: createLogger({ level: config.logLevel, name: 'gateway' }),
    closers: new Closers(),
  },
);
