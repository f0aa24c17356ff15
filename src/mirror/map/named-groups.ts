/**
 * Users can name the groups that they belong to: in memberOf, and by the number of their primary group. They are stored as references
 * of a field with this name, which no field has. In a mapped user: the keys of the groups that the entry names.
 */
export const NAMED_GROUPS = ':memberOf';
/** Member of a mapped group: the keys by which users name it, besides that of its DN. */
export const GROUP_KEYS = ':keys';
