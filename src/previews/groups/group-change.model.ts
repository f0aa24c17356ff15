import { Field, ID, ObjectType } from '@nestjs/graphql';
import { InheritAccess } from '../../auth/access.js';
import { Group } from '../../groups/group.model.js';
import { ChangePayload } from '../change.model.js';

@ObjectType({ description: 'The result of `createGroup`.' })
export class CreateGroupPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => Group, { description: 'The group as it would be after the change.' })
  group!: Group;
}

@ObjectType({ description: 'The result of `updateGroup`.' })
export class UpdateGroupPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => Group, { description: 'The group as it would be after the change.' })
  group!: Group;
}

@ObjectType({ description: 'The result of `deleteGroup`.' })
export class DeleteGroupPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => ID, { description: 'The id of the group that would be deleted.' })
  deletedGroupId!: string;
}
