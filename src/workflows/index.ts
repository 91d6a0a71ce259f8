export { withdrawal } from './withdrawal.ts';
