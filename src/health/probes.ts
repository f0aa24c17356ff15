/** Routes that machines request periodically, and that say nothing about the use of the service. */
export const PROBE_ROUTES: ReadonlySet<string> = new Set(['/_health', '/_readiness', '/metrics']);
