// Import undici only through this module, so that the global fetch keeps Node.js's own dispatcher.
import './node-fetch.ts';

export { Agent, buildConnector, type Dispatcher, Pool, request, WebSocket } from 'undici';
