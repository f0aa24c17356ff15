import { type IncomingMessage, ServerResponse } from 'node:http';
import helmet, { type HelmetOptions } from 'helmet';
import type { Config } from '../config/config.js';

/** Seconds: a year. */
const TRANSPORT_SECURITY_AGE = 31_536_000;

/** The headers with which browsers treat a response as data and not as a page. helmet computes them once. */
export function securityHeaders({ baseUrl }: Pick<Config, 'baseUrl'>): Record<string, string> {
  const nothing = [`'none'`];
  return valuesOf({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: nothing, baseUri: nothing, formAction: nothing, frameAncestors: nothing },
    },
    crossOriginResourcePolicy: { policy: 'same-origin' },
    referrerPolicy: { policy: 'no-referrer' },
    xFrameOptions: { action: 'deny' },
    // Only for this host: its subdomains may belong to other applications.
    strictTransportSecurity: baseUrl.startsWith('https:')
      ? { maxAge: TRANSPORT_SECURITY_AGE, includeSubDomains: false }
      : false,
    // For pages, and for browsers of long ago.
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  });
}

/** What helmet would set, had it been asked by a request. */
function valuesOf(options: HelmetOptions): Record<string, string> {
  const request = {} as IncomingMessage;
  const response = new ServerResponse(request);
  helmet(options)(request, response, (error) => {
    if (error !== undefined) throw error as Error;
  });
  return Object.fromEntries(
    Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]),
  );
}
