// The modules are imported individually, because the entry point of the package logs a warning at every start
// on Node versions before 22. The types are those of @types/oidc-provider.

declare module 'oidc-provider/lib/provider.js' {
  export { Provider } from 'oidc-provider';
}

declare module 'oidc-provider/lib/helpers/errors.js' {
  import { errors } from 'oidc-provider';
  export import InvalidGrant = errors.InvalidGrant;
  export import InvalidScope = errors.InvalidScope;
  export import InvalidTarget = errors.InvalidTarget;
  export import OIDCProviderError = errors.OIDCProviderError;
  export import SessionNotFound = errors.SessionNotFound;
}
