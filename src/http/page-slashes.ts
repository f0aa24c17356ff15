import type { FastifyInstance } from 'fastify';

const WITH_SLASH = /^([^?]*)\/(\?.*)?$/;
const PAGES = new Set(['/explorer', '/status', '/graphql/v1', '/reference/errors']);

/** Redirects to the page without the slash, because its links are relative to that address. */
export function redirectSlashes(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', ({ url, method }, reply, done) => {
    const [, page = '', query = ''] = WITH_SLASH.exec(url) ?? [];
    if (!PAGES.has(page) || (method !== 'GET' && method !== 'HEAD')) {
      done();
      return;
    }
    // A relative address, because a proxy may have removed a part of the path.
    void reply.redirect(`..${page.slice(page.lastIndexOf('/'))}${query}`, 308);
  });
}
