import {
  Context,
  ID,
  Parent,
  Query,
  ResolveField,
  Resolver,
  Field,
  ObjectType,
  registerEnumType,
} from '@nestjs/graphql';
import { InheritAccess, RequireToken, CurrentPrincipal } from '../auth/access.js';
import { type Principal, type Scope, grantedScopes } from '../auth/principal.js';
import { CachePolicy } from '../graphql/cache/cache-policy.decorator.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { UsersService } from './users.service.js';
import { DateTime } from '../graphql/schema/scalars.js';

enum TokenKind {
  ACCESS_TOKEN = 'ACCESS_TOKEN',
  PERSONAL_ACCESS_TOKEN = 'PERSONAL_ACCESS_TOKEN',
  SERVICE_ACCOUNT_TOKEN = 'SERVICE_ACCOUNT_TOKEN',
}

registerEnumType(TokenKind, {
  name: 'TokenKind',
  description: 'The kinds of tokens that the service accepts.',
  valuesMap: {
    ACCESS_TOKEN: { description: 'An access token of an application for a user who signed in.' },
    PERSONAL_ACCESS_TOKEN: {
      description:
        'An access token of the client-credentials grant. A client uses it for itself, or for the user who owns ' +
        'the client.',
    },
    SERVICE_ACCOUNT_TOKEN: { description: 'The token of a service account, which acts for no user.' },
  },
});

@ObjectType({ description: 'The token of this request.' })
export class CurrentToken {
  constructor(readonly principal: Principal) {
    this.kind = TokenKind[principal.kind];
    this.scopes = grantedScopes(principal);
    this.clientId = principal.clientId;
    this.expiresAt = principal.expiresAt;
  }

  @InheritAccess()
  @Field(() => TokenKind, { description: 'The kind of the token.' })
  readonly kind: TokenKind;

  @InheritAccess()
  @Field(() => [String], { description: 'The scopes of the token that this service knows.' })
  readonly scopes: Scope[];

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The OAuth client to which the token was issued.' })
  readonly clientId: string | null;

  @InheritAccess()
  @Field(() => DateTime, { nullable: true, description: 'When the token expires. Null if unknown.' })
  readonly expiresAt: Date | null;
}

@Resolver(() => CurrentToken)
export class CurrentTokenResolver {
  constructor(private readonly users: UsersService) {}

  @RequireToken()
  @CachePolicy('request')
  @Query(() => CurrentToken, {
    nullable: true,
    description: 'The token of this request.',
  })
  currentToken(@CurrentPrincipal() principal: Principal | null): CurrentToken | null {
    return principal === null ? null : new CurrentToken(principal);
  }

  @InheritAccess()
  @CachePolicy('mirror', 'subject')
  @ResolveField(() => ID, {
    nullable: true,
    description: 'The id of the user for whom the token acts. Null if there is none.',
  })
  userId(
    @Parent() { principal }: CurrentToken,
    @Context() { reader }: RequestContext,
  ): Promise<string | null> {
    return this.users.findIdOf(principal, reader);
  }
}
