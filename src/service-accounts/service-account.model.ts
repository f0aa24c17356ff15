import { Field, ID, ObjectType } from '@nestjs/graphql';
import { InheritAccess } from '../auth/access.js';
import type { Scope } from '../auth/scopes.js';
import { DateTime } from '../graphql/schema/scalars.js';

@ObjectType({
  description: 'The account of a program that asks with a token of its own, on behalf of nobody.',
})
export class ServiceAccount {
  @InheritAccess()
  @Field(() => ID, { description: 'The id that its token begins with.' })
  id!: string;

  @InheritAccess()
  @Field(() => String, { description: 'What it is called.' })
  name!: string;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'What it is for.' })
  description!: string | null;

  @InheritAccess()
  @Field(() => [String], { description: 'The scopes that it was given.' })
  scopes!: Scope[];

  @InheritAccess()
  @Field(() => DateTime, { description: 'When it was made.' })
  createdAt!: Date;

  @InheritAccess()
  @Field(() => DateTime, { nullable: true, description: 'When it ends; null: it does not.' })
  expiresAt!: Date | null;

  @InheritAccess()
  @Field(() => DateTime, { nullable: true, description: 'When it was last used, to the minute.' })
  lastUsedAt!: Date | null;
}
