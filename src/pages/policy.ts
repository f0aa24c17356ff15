import { createHash } from 'node:crypto';

/** Sources by directive (CSP Level 3 §2.3), such as `{ 'style-src': ["'self'"] }`. */
export type Directives = Readonly<Record<string, readonly string[]>>;

/** A policy that forbids to load anything but what is named, and to put the page into another one. */
export function contentSecurityPolicy(allowed: Directives): string {
  const nothing = [`'none'`];
  const directives = {
    'default-src': nothing,
    // The mark of the service.
    'img-src': ['data:'],
    'base-uri': nothing,
    'frame-ancestors': nothing,
    ...allowed,
  };
  return Object.entries(directives)
    .map(([name, sources]) => `${name} ${sources.join(' ')}`)
    .join('; ');
}

/** Names the one style or script of a page that may be in it. */
export function hashSource(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}

/** Headers of a page: caches revalidate it on each use, and it sends no Referer. */
export function pageHeaders(allowed: Directives): Record<string, string> {
  return {
    'content-security-policy': contentSecurityPolicy({ 'form-action': [`'none'`], ...allowed }),
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
  };
}
