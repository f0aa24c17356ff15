import { type GraphqlRequest, send } from './send.js';
import { session, signOuts } from './session.js';
import { settings } from './settings.js';
import { Store } from './store.js';

/** What is shown below the editors about the last response. */
export interface LastResponse {
  readonly status: number;
  readonly rateLimit: RateLimit;
  /** The scopes that the operation needs beside those of the token. Null: the service has not asked for any token or scope. */
  readonly missingScopes: readonly string[] | null;
  readonly pictures: readonly PictureLink[];
}

export const lastResponse = new Store<LastResponse | null>(null);
signOuts.subscribe(() => {
  lastResponse.set(null);
});

/** Sends a request with the token, and stores status, limits and pictures of its response. */
export async function runOperation(request: GraphqlRequest): Promise<Record<string, unknown>> {
  const token = session.get();
  const signOutsBefore = signOuts.get();
  const { body, response } = await send(request, token?.authorization ?? null);
  // A response that arrives after its user has signed out is not shown.
  if (request.operationName !== 'IntrospectionQuery' && signOuts.get() === signOutsBefore) {
    lastResponse.set({
      status: response.status,
      rateLimit: parseRateLimit(response.headers.get('RateLimit') ?? ''),
      missingScopes: findMissingScopes(body, token?.scopes ?? []),
      pictures: findPictures(body, settings.baseUrl),
    });
  }
  return body;
}

/** The part of a response that names missing scopes: docs/http.md describes it. */
interface Failure {
  readonly extensions?: { readonly code?: unknown; readonly requiredScopes?: unknown };
}

/**
 * Returns the scopes that the errors of a response require beside those of the token, which is empty if any token is enough. Null:
 * no error requires a token or a scope.
 */
function findMissingScopes(body: unknown, granted: readonly string[]): string[] | null {
  const { errors } = body as { errors?: unknown };
  const failures = (Array.isArray(errors) ? (errors as Failure[]) : []).filter(
    ({ extensions }) => extensions?.code === 'UNAUTHENTICATED' || extensions?.code === 'INSUFFICIENT_SCOPE',
  );
  if (failures.length === 0) return null;
  const required = failures.flatMap(({ extensions }) =>
    Array.isArray(extensions?.requiredScopes) ? (extensions.requiredScopes as string[]) : [],
  );
  return [...new Set(required)].filter((scope) => !granted.includes(scope));
}

/** A picture whose signed URL is in a response. */
interface PictureLink {
  readonly url: string;
  /** Name or id of the object with the picture. */
  readonly name: string;
}

/** Each picture is a request. */
const MAX_PICTURES = 60;

/** Returns the distinct signed URLs of the service in a response. URLs of other origins are ignored. */
function findPictures(body: unknown, baseUrl: string): PictureLink[] {
  const found = new Map<string, PictureLink>();
  collect(body, baseUrl, found);
  return [...found.values()];
}

function collect(value: unknown, baseUrl: string, found: Map<string, PictureLink>): void {
  if (typeof value !== 'object' || value === null || found.size >= MAX_PICTURES) return;
  for (const member of Object.values(value)) {
    if (isPicture(member, baseUrl)) {
      if (!found.has(member) && found.size < MAX_PICTURES)
        found.set(member, { url: member, name: nameOf(value) });
    } else collect(member, baseUrl, found);
  }
}

function isPicture(value: unknown, baseUrl: string): value is string {
  return (
    typeof value === 'string' &&
    (value.startsWith(`${baseUrl}/photo/v1/`) || value.startsWith(`${baseUrl}/picture/v1/`))
  );
}

function nameOf(owner: object): string {
  const { name, id } = owner as { name?: unknown; id?: unknown };
  if (typeof name === 'string') return name;
  return typeof id === 'string' ? id : 'Picture';
}

/** The state of the limits. Values that the response does not contain are undefined. */
export interface RateLimit {
  /** Points charged for the operation. */
  readonly cost?: number;
  /** Points left in the window. */
  readonly points?: number;
  /** Requests left in the window. */
  readonly requests?: number;
}

/** Parses the header `RateLimit`: a list of limits with parameters (RFC 9651 §3.1; docs/http.md). */
function parseRateLimit(header: string): RateLimit {
  const found: { -readonly [Name in keyof RateLimit]: number } = {};
  for (const item of header.split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim());
    const valueOf = (key: string) => {
      const value = parameters.find((parameter) => parameter.startsWith(`${key}=`))?.slice(key.length + 1);
      return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
    };
    const left = valueOf('r');
    const cost = valueOf('directory-cost');
    if (name === '"points"' && left !== undefined) found.points = left;
    if (name === '"requests"' && left !== undefined) found.requests = left;
    if (cost !== undefined) found.cost = cost;
  }
  return found;
}
