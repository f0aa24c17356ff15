import { defineConfig, loadEnv } from 'vite';

/** Allows only what the page needs: no other hosts and no inline scripts. */
function contentSecurityPolicy({ VITE_SERVICE_URL: service, VITE_ISSUER: issuer }) {
  const origins = [...new Set([service, issuer].map((url) => new URL(url).origin))].join(' ');
  const policy = [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self'`,
    `img-src ${new URL(service).origin} data:`,
    `connect-src ${origins}`,
    `base-uri 'none'`,
    `form-action 'none'`,
  ].join('; ');
  return {
    name: 'content-security-policy',
    // In development, Vite uses inline style sheets.
    apply: 'build',
    transformIndexHtml: () => [
      {
        tag: 'meta',
        attrs: { 'http-equiv': 'Content-Security-Policy', content: policy },
        injectTo: 'head-prepend',
      },
    ],
  };
}

// The redirect URI contains the port, so another port does not work.
const server = { host: 'localhost', port: Number(process.env.PORT ?? 5173), strictPort: true };

export default defineConfig(({ mode }) => ({
  server,
  preview: server,
  build: { target: 'es2023', modulePreload: { polyfill: false } },
  plugins: [contentSecurityPolicy({ ...loadEnv(mode, import.meta.dirname), ...process.env })],
}));
