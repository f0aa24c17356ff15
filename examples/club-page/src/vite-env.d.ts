interface ImportMetaEnv {
  readonly VITE_SERVICE_URL: string;
  readonly VITE_ISSUER: string;
  readonly VITE_CLIENT_ID: string;
  readonly VITE_SCOPE: string;
}
