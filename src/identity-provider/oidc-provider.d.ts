// The modules are imported individually, because the entry point of the package logs a warning at every start
// on Node versions before 22. The types are those of @types/oidc-provider.

declare module 'oidc-provider/lib/provider.js' {
  export { Provider } from 'oidc-provider';
}

declare module 'oidc-provider/lib/adapters/memory_adapter.js' {
  import type { AdapterFactory } from 'oidc-provider';
  /** @param clockTolerance seconds for which an entry is kept after its end */
  export function createMemoryAdapter(clockTolerance: number): AdapterFactory;
}

declare module 'oidc-provider/lib/helpers/errors.js' {
  import { errors } from 'oidc-provider';
  export import InvalidRequest = errors.InvalidRequest;
  export import InvalidScope = errors.InvalidScope;
  export import InvalidTarget = errors.InvalidTarget;
  export import OIDCProviderError = errors.OIDCProviderError;
}
