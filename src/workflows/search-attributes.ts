import { defineSearchAttributeKey } from '@temporalio/common';

/** Typed search attributes of withdrawals. The worker registers them at start-up. */
export const SLUICE_STATUS = defineSearchAttributeKey('sluiceStatus', 'KEYWORD');
export const SLUICE_ASSET = defineSearchAttributeKey('sluiceAsset', 'KEYWORD');
export const SLUICE_DESTINATION = defineSearchAttributeKey('sluiceDestination', 'KEYWORD');
export const SLUICE_SIGNATURE = defineSearchAttributeKey('sluiceSignature', 'KEYWORD');

export const SEARCH_ATTRIBUTES = [SLUICE_STATUS, SLUICE_ASSET, SLUICE_DESTINATION, SLUICE_SIGNATURE] as const;
