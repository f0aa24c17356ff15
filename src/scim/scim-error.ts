import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { bounded } from '../common/errors.js';
import { rateLimitHeaders } from '../graphql/rate-limit/rate-limiter.js';
import { RejectionError, type RejectionForm } from '../http/rejection.js';

/** The reasons for the status 400 (RFC 7644 §3.12, RFC 9865 §2.2). */
type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'invalidValue'
  | 'invalidCursor'
  | 'invalidCount';

export class ScimError extends RejectionError {
  constructor(
    readonly scimType: ScimType,
    message: string,
  ) {
    super(400, 'BAD_USER_INPUT', bounded(message));
  }
}

/** With the charset, so that an Accept header that contains it matches, too. Answers do not have it. */
const MEDIA_TYPES = ['application/scim+json; charset=utf-8', 'application/json; charset=utf-8'];

/** The media type of an answer; undefined if the client accepts none. */
export function mediaTypeOf(raw: IncomingMessage): string | undefined {
  return new Negotiator(raw).mediaType(MEDIA_TYPES)?.split(';')[0];
}

/** All rejections below the path, also those that no controller has seen. */
export const SCIM_REJECTIONS: RejectionForm = {
  matches: ({ url, routeOptions }) =>
    /^\/scim\/v2(?:[/?]|$)/.test(url) || routeOptions.url?.startsWith('/scim/v2/') === true,
  write: (rejection, _requestId, { raw, rateLimits }) => {
    const { status, code, message } = rejection;
    const byCode = code === 'INVALID_CURSOR' ? 'invalidCursor' : undefined;
    const scimType = rejection instanceof ScimError ? rejection.scimType : byCode;
    const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error'];
    return {
      type: mediaTypeOf(raw) ?? 'application/scim+json',
      headers: rateLimitHeaders(rateLimits ?? []),
      body: JSON.stringify({ schemas, scimType, detail: message, status: String(status) }),
    };
  },
};
