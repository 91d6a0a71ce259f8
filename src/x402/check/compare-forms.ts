import { FORMS, type FormOffer, type TermsFault } from './offer.ts';

/** Fields that every form of the same terms must agree on. A form without the field has null. */
const FIELDS: readonly (readonly [string, (offer: FormOffer) => string | null])[] = [
  ['network', ({ network }) => network.caip2],
  ['amount', ({ amount }) => amount.toString()],
  ['feePayer', ({ feePayer }) => feePayer],
];

/**
 * Faults of forms that offer different terms: the client's version then decides what its buyer pays. The first form
 * with an offer is the one that the others must agree with.
 */
export function formFaults(offers: readonly FormOffer[]): readonly TermsFault[] {
  const [first, ...others] = FORMS.map((form) => offers.filter((offer) => offer.form === form)).filter(
    (ofForm) => ofForm.length > 0,
  );
  if (first === undefined) return [];
  return others.flatMap((ofForm) => [
    ...ofForm.flatMap((offer) => disagreement(offer, first)),
    // The interface's quote has one entry alone.
    ...first
      .filter((offer) => ofForm[0]?.form !== 'interface' && !ofForm.some((other) => isSameSale(offer, other)))
      .map(({ place, asset, payTo }) => ({
        place: ofForm[0]?.place ?? '',
        expected: `must also have the terms of ${place}`,
        found: `nothing for asset ${asset} and payTo ${payTo}`,
      })),
  ]);
}

function isSameSale(one: FormOffer, other: FormOffer): boolean {
  return one.asset === other.asset && one.payTo === other.payTo;
}

function disagreement(offer: FormOffer, others: readonly FormOffer[]): readonly TermsFault[] {
  const same = others.filter((other) => isSameSale(offer, other));
  const [closest] = same;
  if (closest === undefined)
    return [
      {
        place: offer.place,
        expected: `must have the asset and payTo of ${others.map(({ place }) => place).join(' or ')}`,
        found: `asset ${offer.asset}, payTo ${offer.payTo}`,
      },
    ];
  if (same.some((other) => differences(offer, other).length === 0)) return [];
  return differences(offer, closest);
}

function differences(offer: FormOffer, other: FormOffer): readonly TermsFault[] {
  return FIELDS.flatMap(([field, read]) => {
    const [own, theirs] = [read(offer), read(other)];
    if (own === null || theirs === null || own === theirs) return [];
    return [
      { place: `${offer.place} ${field}`, expected: `must be ${theirs}, as in ${other.place}`, found: own },
    ];
  });
}
