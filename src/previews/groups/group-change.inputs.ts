import { Field, InputType } from '@nestjs/graphql';
import { GroupInput } from '../../groups/group.inputs.js';
import { ChangeInput } from '../change.inputs.js';

const UNCHANGED = 'Left out: it stays as it is.';
const REMOVABLE = `null or an empty text removes it. ${UNCHANGED}`;
const ADDRESS = 'one, in ASCII, up to 254 characters';
const WEBSITE =
  'an http or https URL without user information, spaces, quotes or markup, up to 10,000 characters';
const DESCRIPTION = 'up to 10,000 characters, with line feeds and tabs if need be';

@InputType({ description: 'The group that is to be made. Whoever the token acts for becomes its owner.' })
export class CreateGroupInput extends ChangeInput {
  @Field(() => String, {
    description:
      'The id, which no group has yet, without regard to case: 1 to 256 ASCII letters, digits, dots, hyphens and ' +
      'underscores, of which the first is a letter or a digit. It stands in addresses and stays for good.',
  })
  id!: string;

  @Field(() => String, { description: 'The name, as it is shown to people: 1 to 512 characters.' })
  name!: string;

  @Field(() => String, { nullable: true, description: `What the group is about: ${DESCRIPTION}.` })
  description?: string | null;

  @Field(() => String, { nullable: true, description: `The web site of the group: ${WEBSITE}.` })
  website?: string | null;

  @Field(() => String, { nullable: true, description: `The e-mail address of the group: ${ADDRESS}.` })
  email?: string | null;

  @Field(() => GroupInput, {
    nullable: true,
    description: 'A group that contains the new one as a member: those of the new one are then in it too.',
  })
  parent?: GroupInput | null;
}

@InputType({ description: 'Which group, and what of it is to change: at least one thing.' })
export class UpdateGroupInput extends ChangeInput {
  @Field(() => GroupInput, { description: 'Which group.' })
  group!: GroupInput;

  @Field(() => String, {
    nullable: true,
    description: `The new name, up to 512 characters. It cannot be removed. ${UNCHANGED}`,
  })
  name?: string | null;

  @Field(() => String, {
    nullable: true,
    description: `What the group is about: ${DESCRIPTION}; ${REMOVABLE}`,
  })
  description?: string | null;

  @Field(() => String, { nullable: true, description: `The new web site: ${WEBSITE}; ${REMOVABLE}` })
  website?: string | null;

  @Field(() => String, { nullable: true, description: `The new e-mail address: ${ADDRESS}; ${REMOVABLE}` })
  email?: string | null;
}

@InputType({ description: 'The group that is to be deleted.' })
export class DeleteGroupInput extends ChangeInput {
  @Field(() => GroupInput, {
    description: 'Which group. Its people stay in the directory, and so do the groups inside it.',
  })
  group!: GroupInput;
}
