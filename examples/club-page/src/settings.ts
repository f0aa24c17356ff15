/** URL of the service, without a slash at the end. */
export const SERVICE_URL = import.meta.env.VITE_SERVICE_URL.replace(/\/$/, '');
export const ISSUER = import.meta.env.VITE_ISSUER;
export const CLIENT_ID = import.meta.env.VITE_CLIENT_ID;
export const SCOPE = import.meta.env.VITE_SCOPE;
