import { type IncomingMessage, STATUS_CODES } from 'node:http';
import Negotiator from 'negotiator';
import { escapeHtml, renderDocument } from '../pages/html.js';
import { hashSource, pageHeaders } from '../pages/policy.js';
import { PALETTE, TEXT_STYLE } from '../pages/style.js';
import { LONGEST_PARSED_FIELD } from './headers.js';

const STYLE = `${PALETTE}${TEXT_STYLE}`;
export const REJECTION_PAGE_HEADERS = pageHeaders({ 'style-src': [hashSource(STYLE)] });

/** The types of rejections. A client that prefers none of them gets the first. */
const TYPES = ['application/json', 'application/graphql-response+json', 'text/html'];

/** Browsers name text/html when a person opens an address, and not when a script sends a request. */
export function prefersPage({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  const { accept = '' } = headers;
  if (method !== 'GET' && method !== 'HEAD') return false;
  // A longer field is not parsed.
  if (!accept.includes('text/html') || accept.length > LONGEST_PARSED_FIELD) return false;
  return new Negotiator({ headers: { accept } }).mediaType(TYPES) === 'text/html';
}

/**
 * The rejection for a person who opened an address in a browser: what is wrong, and the way to the pages of the service.
 * @param about describes the address; undefined: there is nothing to say
 */
export function renderRejection(
  basePath: string,
  { status, code, message }: { readonly status: number; readonly code: string; readonly message: string },
  requestId: string,
  about: string | undefined,
): string {
  const title = about === undefined ? titleOf(status) : 'This address is for programs';
  const detail = `${escapeHtml(message)}.`;
  return renderDocument({
    title: `${title} · Directory Service`,
    head: `<style>${STYLE}</style>`,
    body: `<main>
<h1>${escapeHtml(title)}</h1>
<p>${about === undefined ? detail : escapeHtml(about)}</p>
<p>The <a href="${escapeHtml(basePath)}/">start page</a> says what this service is, and has a first query to copy.</p>
<p class="quiet">Status ${status}: ${about === undefined ? '' : detail}
${code}, request ${escapeHtml(requestId)}</p>
</main>`,
  });
}

function titleOf(status: number): string {
  if (status === 404) return 'There is no page at this address';
  if (status === 503) return 'Not available at the moment';
  return STATUS_CODES[status] ?? 'This did not work';
}
