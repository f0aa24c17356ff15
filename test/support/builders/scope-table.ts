/**
 * The scopes that fields of the schema require: `public`, `token` (any token), or all required scopes. A field of another type than
 * `Query` and `Mutation` that has no line is readable if its object is, unless it is in the tables of fields of users and groups,
 * which declare their access.
 */
export const SCOPE_TABLE = `
Group.members                                 read
Group.membership                              read
Mutation.addGroupMember                       write
Mutation.createGroup                          write
Mutation.deleteGroup                          write
Mutation.removeGroupMember                    write
Mutation.updateGroup                          write
Mutation.updateGroupMember                    write
Mutation.updateProfile                        profile write
Mutation.updateUser                           directory write
Profile.user                                  read
Query.buildInfo                               public
Query.changes                                 directory
Query.currentServiceAccount                   token
Query.currentToken                            token
Query.directoryStatus                         public
Query.group                                   read
Query.groups                                  read
Query.isMember                                read
Query.node                                    token
Query.nodes                                   token
Query.profile                                 profile
Query.rateLimit                               public
Query.search                                  read
Query.user                                    read
Query.users                                   directory
`;

/**
 * The outcome of each mutation of a user, by its arguments and by what the token can read besides `write`: nothing, the own
 * profile, users and groups (`read`), everything (`directory`). The group `inner` is the user's own, the group `far` is not;
 * `anna` is the user, `mia` another one. Other ids do not exist.
 *
 * - `ok`: a payload;
 * - `withheld`: the scopes of the field are missing;
 * - `unreadable`: INSUFFICIENT_SCOPE, whether the argument's object exists or not;
 * - otherwise an error code.
 */
export const NAMING_TABLE = `
                                                              nothing     profile     read        directory
updateProfile(name: "Ann")                                    withheld    ok          withheld    withheld
updateUser(user: {id: "mia"}, name: "M")                      withheld    withheld    withheld    ok
updateUser(user: {id: "nobody"}, name: "M")                   withheld    withheld    withheld    NOT_FOUND
createGroup(id: "new", name: "New")                           ok          ok          ok          ok
createGroup(id: "new", name: "New", parent: {id: "inner"})    unreadable  ok          ok          ok
createGroup(id: "new", name: "New", parent: {id: "far"})      unreadable  NOT_FOUND   FORBIDDEN   ok
createGroup(id: "new", name: "New", parent: {id: "nothing"})  unreadable  NOT_FOUND   NOT_FOUND   NOT_FOUND
updateGroup(group: {id: "inner"}, name: "In")                 unreadable  ok          ok          ok
updateGroup(group: {id: "far"}, name: "Near")                 unreadable  NOT_FOUND   FORBIDDEN   ok
updateGroup(group: {id: "nothing"}, name: "Near")             unreadable  NOT_FOUND   NOT_FOUND   NOT_FOUND
deleteGroup(group: {id: "zoo"})                               unreadable  ok          ok          ok
deleteGroup(group: {id: "far"})                               unreadable  NOT_FOUND   FORBIDDEN   ok
deleteGroup(group: {id: "nothing"})                           unreadable  NOT_FOUND   NOT_FOUND   NOT_FOUND
addGroupMember(group: {id: "inner"}, user: {id: "mia"})       unreadable  unreadable  ok          ok
addGroupMember(group: {id: "inner"}, user: {id: "nobody"})    unreadable  unreadable  NOT_FOUND   NOT_FOUND
addGroupMember(group: {id: "inner"}, user: {id: "anna"})      unreadable  CONFLICT    CONFLICT    CONFLICT
addGroupMember(group: {id: "far"}, user: {id: "anna"})        unreadable  NOT_FOUND   FORBIDDEN   ok
addGroupMember(group: {id: "nothing"}, user: {id: "anna"})    unreadable  NOT_FOUND   NOT_FOUND   NOT_FOUND
updateGroupMember(group: {id: "inner"}, user: {id: "anna"}, role: ADMIN)    unreadable  ok          ok         ok
updateGroupMember(group: {id: "inner"}, user: {id: "zoe"}, role: ADMIN)     unreadable  unreadable  ok         ok
updateGroupMember(group: {id: "inner"}, user: {id: "nobody"}, role: ADMIN)  unreadable  unreadable  NOT_FOUND  NOT_FOUND
updateGroupMember(group: {id: "far"}, user: {id: "anna"}, role: ADMIN)      unreadable  NOT_FOUND   FORBIDDEN  NOT_FOUND
updateGroupMember(group: {id: "nothing"}, user: {id: "anna"}, role: ADMIN)  unreadable  NOT_FOUND   NOT_FOUND  NOT_FOUND
removeGroupMember(group: {id: "inner"}, user: {id: "anna"})    unreadable  ok          ok         ok
removeGroupMember(group: {id: "inner"}, user: {id: "zoe"})     unreadable  unreadable  ok         ok
removeGroupMember(group: {id: "inner"}, user: {id: "nobody"})  unreadable  unreadable  NOT_FOUND  NOT_FOUND
removeGroupMember(group: {id: "far"}, user: {id: "anna"})      unreadable  NOT_FOUND   FORBIDDEN  NOT_FOUND
removeGroupMember(group: {id: "nothing"}, user: {id: "anna"})  unreadable  NOT_FOUND   NOT_FOUND  NOT_FOUND
`;
