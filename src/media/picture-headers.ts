/** On every answer, pictures and problems alike: pages of other sites may show one, and learn nothing else. */
export const PICTURE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'cross-origin',
} as const;
