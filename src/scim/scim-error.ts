import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { bounded } from '../common/errors.js';
import { rateLimitHeaders } from '../graphql/rate-limit/rate-limiter.js';
import { RejectionError, type RejectionForm } from '../http/rejection.js';

/** A request that is not valid. @param type that of RFC 7644 §3.12 or RFC 9865 §2.2, which the answer has as `scimType` */
export class ScimError extends RejectionError {
  constructor(type: string, message: string) {
    super(400, 'BAD_USER_INPUT', bounded(message), {}, { argument: type });
  }
}

/** The media type of an answer; undefined if the client accepts none. With the charset, an Accept header that contains it matches, too. */
export function mediaTypeOf(raw: IncomingMessage): string | undefined {
  const types = ['application/scim+json; charset=utf-8', 'application/json; charset=utf-8'];
  return new Negotiator(raw).mediaType(types)?.split(';')[0];
}

/** All rejections below the path, also those that no controller has seen. */
export const SCIM_REJECTIONS: RejectionForm = {
  matches: ({ url, routeOptions: { url: route = '' } }) => /^\/scim\/v2(?![^/?])/m.test(`${url}\n${route}`),
  write: (rejection, _requestId, { raw, rateLimits }) => {
    const { status, code, message: detail, details } = rejection;
    const byCode = code === 'INVALID_CURSOR' ? 'invalidCursor' : undefined;
    const scimType = rejection instanceof ScimError ? details.argument : byCode;
    const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error'];
    return {
      type: mediaTypeOf(raw) ?? 'application/scim+json',
      headers: rateLimitHeaders(rateLimits ?? []),
      body: JSON.stringify({ schemas, scimType, detail, status: String(status) }),
    };
  },
};
