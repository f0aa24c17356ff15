import type { FastifyInstance } from 'fastify';
import { prefersPage } from './rejection-page.js';

const PAGES = new Set(['/explorer', '/graphql/v1']);
const WITH_SLASH = /^([^?]*)\/(\?.*)?$/;

/** Redirects people to the page without the slash, because its links are relative to that address. */
export function redirectSlashes(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const [, page = '', query = ''] = WITH_SLASH.exec(request.url) ?? [];
    if (!PAGES.has(page) || !prefersPage(request)) {
      done();
      return;
    }
    // A relative address, because a proxy may have removed a part of the path.
    void reply.redirect(`..${page.slice(page.lastIndexOf('/'))}${query}`, 308);
  });
}
