// The used part of the API of oidc-provider 9 (plain JavaScript), from its documentation and source. The
// modules are declared individually because the entry point of the package logs a warning at every start on
// Node versions before 22.

declare module 'oidc-provider/lib/provider.js' {
  import type { EventEmitter } from 'node:events';
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

  export interface Context {
    readonly req: IncomingMessage;
    readonly res: ServerResponse;
    readonly method: string;
    readonly path: string;
    status: number;
    type: string;
    body: unknown;
    set(name: string, value: string): void;
    redirect(url: string): void;
  }

  /** A context within the routes of the provider. */
  export interface ProviderContext extends Context {
    readonly oidc: {
      /** The parameters of the request. `requestParamScopes` contains the words of `scope`. */
      readonly params: { readonly grant_type?: string; scope?: string | undefined };
      readonly requestParamScopes: ReadonlySet<string>;
      readonly session?: { readonly state?: { readonly secret: string } };
      readonly client?: RegisteredClient;
      urlFor(name: string): string;
    };
  }

  export type Middleware = (context: Context, next: () => Promise<void>) => unknown;

  export interface RegisteredClient {
    readonly clientId: string;
    readonly clientName?: string;
    readonly clientAuthMethod: string;
    readonly redirectUris: readonly string[];
    grantTypeAllowed(grantType: string): boolean;
    compareClientSecret(secret: string): boolean | Promise<boolean>;
  }

  export interface Token {
    readonly kind: string;
    readonly clientId: string;
    readonly scopes: ReadonlySet<string>;
  }

  export interface Interaction {
    readonly uid: string;
    readonly params: {
      readonly client_id: string;
      readonly scope?: string;
      readonly resource?: string | readonly string[];
      readonly login_hint?: string;
    };
    readonly session?: { readonly accountId: string };
  }

  export interface Grant {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  export interface ErrorOutput {
    readonly error: string;
    readonly error_description?: string;
  }

  /** Storage of artifacts. The provider creates one adapter for every model. `expiresIn` is in seconds. */
  export interface Adapter {
    upsert(id: string, payload: Payload, expiresIn?: number): Promise<void>;
    find(id: string): Promise<Payload | undefined>;
    findByUid(uid: string): Promise<Payload | undefined>;
    findByUserCode(userCode: string): Promise<Payload | undefined>;
    consume(id: string): Promise<void>;
    destroy(id: string): Promise<void>;
    revokeByGrantId(grantId: string): Promise<void>;
  }

  export interface Payload {
    [member: string]: unknown;
    uid?: string;
    userCode?: string;
    grantId?: string;
    consumed?: number;
  }

  export interface Account {
    readonly accountId: string;
    claims(): Promise<{ sub: string; [claim: string]: unknown }>;
  }

  export interface ResourceServer {
    readonly scope: string;
    readonly audience: string;
    /** Lifetime in seconds. */
    readonly accessTokenTTL: number;
    readonly accessTokenFormat: 'jwt' | 'opaque';
    readonly jwt?: { readonly sign: { readonly alg: string } };
  }

  interface Feature {
    readonly enabled: boolean;
  }

  export interface Configuration {
    readonly adapter: (model: string) => Adapter;
    readonly claims: Readonly<Record<string, readonly string[]>>;
    readonly clientAuthMethods: readonly string[];
    readonly clientBasedCORS: (context: ProviderContext, origin: string, client: RegisteredClient) => boolean;
    readonly clients: readonly Readonly<Record<string, unknown>>[];
    readonly cookies: {
      readonly keys: readonly string[];
      readonly long: CookieOptions;
      readonly short: CookieOptions;
    };
    readonly features: {
      readonly clientCredentials: Feature;
      readonly devInteractions: Feature;
      readonly deviceFlow: Feature & {
        readonly charset: 'base-20' | 'digits';
        readonly mask: string;
        readonly deviceInfo: (context: ProviderContext) => object;
        readonly userCodeInputSource: (
          context: ProviderContext,
          form: string,
          output?: ErrorOutput,
          error?: Error & { userCode?: string },
        ) => void | Promise<void>;
        readonly userCodeConfirmSource: (
          context: ProviderContext,
          form: string,
          client: RegisteredClient,
          deviceInfo: object,
          userCode: string,
        ) => void | Promise<void>;
        readonly successSource: (context: ProviderContext) => void;
      };
      readonly dPoP: Feature;
      readonly introspection: Feature & {
        readonly allowedPolicy: (context: ProviderContext, client: RegisteredClient, token: Token) => boolean;
      };
      readonly pushedAuthorizationRequests: Feature;
      readonly resourceIndicators: Feature & {
        readonly defaultResource: () => string;
        readonly getResourceServerInfo: (
          context: ProviderContext,
          resource: string,
          client: RegisteredClient,
        ) => ResourceServer;
        readonly useGrantedResource: (context: ProviderContext, source: Token) => boolean;
      };
      readonly revocation: Feature & {
        readonly allowedPolicy: (context: ProviderContext, client: RegisteredClient, token: Token) => boolean;
      };
      readonly rpInitiatedLogout: Feature & {
        readonly logoutSource: (context: ProviderContext, form: string) => void;
        readonly postLogoutSuccessSource: (context: ProviderContext) => void;
      };
      readonly userinfo: Feature;
    };
    readonly findAccount: (context: ProviderContext, id: string) => Promise<Account | undefined>;
    readonly formats: {
      readonly customizers: {
        readonly jwt: (
          context: ProviderContext,
          token: Token,
          jwt: { payload: { sub?: string; gty?: string } },
        ) => Promise<void>;
      };
    };
    readonly interactions: {
      readonly url: (context: ProviderContext, interaction: Interaction) => string;
    };
    readonly issueRefreshToken: (context: ProviderContext, client: RegisteredClient) => boolean;
    readonly jwks: { readonly keys: readonly object[] };
    readonly pkce: { readonly required: () => boolean };
    readonly renderError: (context: ProviderContext, output: ErrorOutput) => void;
    readonly responseTypes: readonly string[];
    readonly routes: Readonly<Record<string, string>>;
    readonly scopes: readonly string[];
    /** Lifetime in seconds, for every kind of artifact. */
    readonly ttl: Readonly<Record<string, number>>;
  }

  export interface CookieOptions {
    readonly httpOnly: boolean;
    readonly sameSite: 'lax' | 'strict';
    readonly path?: string;
  }

  export class Provider extends EventEmitter {
    constructor(issuer: string, configuration: Configuration);
    /** The context of the present request. */
    static readonly ctx: Context | undefined;
    readonly Client: { readonly prototype: RegisteredClient };
    /** Returns the session of the cookie of a request, or a new session without an expiry. */
    readonly Session: { get(context: Context): Promise<{ readonly exp?: number }> };
    readonly Grant: new (owner: { accountId: string; clientId: string }) => Grant;
    readonly OIDCContext: { readonly prototype: { urlFor(name: string, options?: object): string } };
    /** The prototype of every request. */
    readonly request: object;
    use(middleware: Middleware): this;
    callback(): RequestListener;
    urlFor(name: string, options?: object): string;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    /** Stores the result, and returns the URL at which the flow continues. */
    interactionResult(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
      options: { mergeWithLastSubmission: boolean },
    ): Promise<string>;
  }
}

declare module 'oidc-provider/lib/helpers/errors.js' {
  export class OIDCProviderError extends Error {
    readonly statusCode: number;
    constructor(status: number, message: string, options?: ErrorOptions);
  }
  export class InvalidScope extends OIDCProviderError {
    constructor(description: string, scope: string);
  }
  export class InvalidTarget extends OIDCProviderError {
    constructor(description?: string);
  }
  export class SessionNotFound extends OIDCProviderError {}
}
