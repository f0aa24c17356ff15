/** Without the slash at its end. */
export const SERVICE_URL = import.meta.env.VITE_SERVICE_URL.replace(/\/$/, '');
export const ISSUER = import.meta.env.VITE_ISSUER;
export const CLIENT_ID = import.meta.env.VITE_CLIENT_ID;
/** `profile` for one's own clubs, `read` for the people in them. */
export const SCOPE = 'openid profile read';
