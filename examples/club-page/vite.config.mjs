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

export default defineConfig(({ mode }) => ({
  // The provider sends people back to this address: another port would be another one.
  server: { host: 'localhost', port: 5173, strictPort: true },
  preview: { host: 'localhost', port: 5173, strictPort: true },
  build: { target: 'es2023', modulePreload: { polyfill: false } },
  plugins: [contentSecurityPolicy({ ...loadEnv(mode, import.meta.dirname), ...process.env })],
}));
