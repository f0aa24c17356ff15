import { defineConfig, loadEnv } from 'vite';

/** Only what the page needs: nothing of another host, and no script that is written into it. */
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
    // While developing Vite writes style sheets into the page.
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

// The provider sends people back to this address, so it is this one or none.
const server = { host: 'localhost', port: Number(process.env.PORT ?? 5173), strictPort: true };

export default defineConfig(({ mode }) => ({
  server,
  preview: server,
  build: { target: 'es2023', modulePreload: { polyfill: false } },
  plugins: [contentSecurityPolicy({ ...loadEnv(mode, import.meta.dirname), ...process.env })],
}));
