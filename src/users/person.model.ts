import { InterfaceType } from '@nestjs/graphql';
import { Node } from '../graphql/schema/node.js';

/** The schema adds the fields: see ShareFields. */
@InterfaceType({
  implements: () => [Node],
  description: 'The fields that a person has both as a user and as the profile of a token.',
})
export abstract class Person {}
