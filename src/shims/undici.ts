// The only import of undici. It keeps the global fetch on Node.js's own dispatcher.
import './node-fetch.ts';

export { Agent, type Dispatcher, Pool, request } from 'undici';
