// The only import of undici: fetch, of whatever library in this process, stays as Node.js has it.
import './node-fetch.ts';

export { Agent, type Dispatcher, Pool, request } from 'undici';
