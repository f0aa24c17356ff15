import type { FastifyInstance } from 'fastify';

/** The address of a page with a slash too many. */
const WITH_SLASH = /\/(explorer|status|errors|(?<=\/graphql\/)v1)\/(\?.*)?$/;

/** Redirects to the page without the slash, because its links are relative to that address. */
export function redirectSlashes(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', ({ url, method }, reply, done) => {
    const found = method === 'GET' || method === 'HEAD' ? WITH_SLASH.exec(url) : null;
    if (found === null) done();
    else void reply.redirect(`../${found[1] ?? ''}${found[2] ?? ''}`, 308);
  });
}
