import type sharp from 'sharp';

let loading: Promise<typeof sharp> | null = null;

/** The library takes 20 MB, so only the first picture loads it. */
export function loadSharp(): Promise<typeof sharp> {
  return (loading ??= load());
}

async function load(): Promise<typeof sharp> {
  const library = (await import('sharp')).default;
  // One thread per rendering. The operation cache is off, because no two renderings have the same input.
  library.concurrency(1);
  library.cache(false);
  return library;
}
