/** Headers of every response, including errors. Pages of other sites may display a picture and read nothing. */
export const PICTURE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'cross-origin',
} as const;
