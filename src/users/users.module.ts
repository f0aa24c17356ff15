import { Module } from '@nestjs/common';
import { Args, Context, ID, Info, ObjectType, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import type { GraphQLResolveInfo } from 'graphql';
import { CurrentPrincipal, InheritAccess, RequireScopes, RequireToken } from '../auth/access.js';
import { grantedScopes, type Principal, type Scope } from '../auth/principal.js';
import { ServiceError } from '../common/errors.js';
import { objectSelection, pageSelection } from '../graphql/analysis/selection.js';
import { CachePolicy } from '../graphql/cache/response-cache.js';
import type { RequestContext } from '../graphql/http/request-context.js';
import { type Connection, describedEnum, Shown } from '../graphql/schema/connection.js';
import { DateTime } from '../graphql/schema/derived-fields.js';
import { UserListArguments } from './user-list.inputs.js';
import { Profile, User, UserConnection, UserInput } from './user.model.js';
import { UsersService } from './users.service.js';

const TokenKind = describedEnum('TokenKind', 'The kinds of tokens that the service accepts.', {
  ACCESS_TOKEN: 'An access token of an application for a user who signed in.',
  PERSONAL_ACCESS_TOKEN:
    'An access token of the client-credentials grant. A client uses it for itself, or for the user who owns ' +
    'the client.',
  SERVICE_ACCOUNT_TOKEN: 'The token of a service account, which acts for no user.',
});
type TokenKind = keyof typeof TokenKind;

@ObjectType({ description: 'The token of this request.' })
class CurrentToken {
  constructor(readonly principal: Principal) {
    this.kind = TokenKind[principal.kind];
    this.scopes = grantedScopes(principal);
    this.clientId = principal.clientId;
    this.expiresAt = principal.expiresAt;
  }

  @Shown(() => TokenKind, 'The kind of the token.')
  readonly kind: TokenKind;

  @Shown(() => [String], 'The scopes of the token that this service knows.')
  readonly scopes: Scope[];

  @Shown(() => String, 'The OAuth client to which the token was issued.', { nullable: true })
  readonly clientId: string | null;

  @Shown(() => DateTime, 'When the token expires. Null if unknown.', { nullable: true })
  readonly expiresAt: Date | null;
}

@Resolver(() => CurrentToken)
class CurrentTokenResolver {
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

@Resolver(() => User)
class UsersResolver {
  constructor(private readonly service: UsersService) {}

  @RequireScopes('read')
  @CachePolicy('mirror')
  @Query(() => User, { nullable: true, description: 'One user. NOT_FOUND if there is no such user.' })
  user(
    @Args('user', { description: 'The user to return.' }) input: UserInput,
    @Context() { reader }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<User> {
    return this.service.getSelected(input, 'user', objectSelection(info, 'groups'), reader);
  }

  @RequireScopes('directory')
  @CachePolicy('mirror')
  @Query(() => UserConnection, {
    nullable: true,
    description: 'All users that the viewer may see, page by page. Rules of visibility leave out the others.',
  })
  users(
    @Args() page: UserListArguments,
    @Context() { reader }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Connection<User>> {
    return this.service.list(page, pageSelection(info), reader);
  }

  @RequireScopes('profile')
  @CachePolicy('mirror', 'subject')
  @Query(() => Profile, {
    nullable: true,
    description:
      'The user for whom the token acts. NO_USER_CONTEXT if the token acts for no user of the directory.',
  })
  async profile(
    _given: unknown,
    @Context() { principal, reader }: RequestContext,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Profile> {
    const id = principal?.subject ?? null;
    const user =
      id === null ? null : await this.service.findSelected({ id }, objectSelection(info, 'groups'), reader);
    if (user !== null) return new Profile(user);
    throw new ServiceError(
      'NO_USER_CONTEXT',
      'The token acts for no user of the directory: there is no profile',
    );
  }
}

@Module({
  providers: [CurrentTokenResolver, UsersResolver, UsersService],
  exports: [UsersService],
})
export class UsersModule {}
