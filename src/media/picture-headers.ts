/** On every answer, pictures and problems alike: pages of other sites may show one, and learn nothing else. */
export const PICTURE_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const;
