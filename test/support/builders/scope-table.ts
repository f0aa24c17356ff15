/**
 * The scopes that each field of the schema requires, one line per field: `public`, `token` (any token), all required scopes, or
 * `inherited` (the field is readable if its object is). A field without a line fails the test of scopes, unless it is in the
 * tables of fields of users and groups, which declare their access.
 */
export const SCOPE_TABLE = `
AddGroupMemberPayload.clientMutationId        inherited
AddGroupMemberPayload.membership              inherited
AddGroupMemberPayload.preview                 inherited
AddGroupMemberPayload.userErrors              inherited
BuildInfo.commit                              inherited
BuildInfo.version                             inherited
Change.at                                     inherited
Change.group                                  inherited
Change.groupId                                inherited
Change.groupNodeId                            inherited
Change.id                                     inherited
Change.kind                                   inherited
Change.previousId                             inherited
Change.roleAfter                              inherited
Change.roleBefore                             inherited
Change.user                                   inherited
Change.userId                                 inherited
Change.userNodeId                             inherited
ChangeConnection.completeAfter                inherited
ChangeConnection.edges                        inherited
ChangeConnection.nodes                        inherited
ChangeConnection.pageInfo                     inherited
ChangeConnection.totalCount                   inherited
ChangeEdge.cursor                             inherited
ChangeEdge.node                               inherited
ChangePreview.basedOn                         inherited
ChangePreview.changes                         inherited
ChangePreview.ldif                            inherited
ChangePreview.persisted                       inherited
CreateGroupPayload.clientMutationId           inherited
CreateGroupPayload.group                      inherited
CreateGroupPayload.preview                    inherited
CreateGroupPayload.userErrors                 inherited
CurrentGroupMembershipInheritance.direct      inherited
CurrentGroupMembershipInheritance.inheritedFrom inherited
CurrentGroupMembershipInheritance.value       inherited
CurrentToken.clientId                         inherited
CurrentToken.expiresAt                        inherited
CurrentToken.kind                             inherited
CurrentToken.scopes                           inherited
CurrentToken.userId                           inherited
DeleteGroupPayload.clientMutationId           inherited
DeleteGroupPayload.deletedGroupId             inherited
DeleteGroupPayload.preview                    inherited
DeleteGroupPayload.userErrors                 inherited
DirectoryStatus.asOf                          inherited
DirectoryStatus.blockedReason                 inherited
DirectoryStatus.mode                          inherited
DirectoryStatus.reason                        inherited
DirectoryStatus.refusals                      inherited
DirectoryStatus.state                         inherited
Group.members                                 read
Group.membership                              read
Group.nodeId                                  inherited
Group.parents                                 inherited
Group.subgroups                               inherited
GroupConnection.edges                         inherited
GroupConnection.nodes                         inherited
GroupConnection.pageInfo                      inherited
GroupConnection.totalCount                    inherited
GroupEdge.cursor                              inherited
GroupEdge.node                                inherited
GroupMembership.group                         inherited
GroupMembership.role                          inherited
GroupMembership.user                          inherited
GroupMembershipConnection.edges               inherited
GroupMembershipConnection.nodes               inherited
GroupMembershipConnection.pageInfo            inherited
GroupMembershipConnection.totalCount          inherited
GroupMembershipEdge.cursor                    inherited
GroupMembershipEdge.node                      inherited
Mutation.addGroupMember                       write
Mutation.createGroup                          write
Mutation.deleteGroup                          write
Mutation.removeGroupMember                    write
Mutation.updateGroup                          write
Mutation.updateGroupMember                    write
Mutation.updateProfile                        profile write
Mutation.updateUser                           directory write
PageInfo.endCursor                            inherited
PageInfo.hasNextPage                          inherited
PageInfo.hasPreviousPage                      inherited
PageInfo.startCursor                          inherited
PreviewedChange.after                         inherited
PreviewedChange.before                        inherited
PreviewedChange.path                          inherited
Profile.groups                                inherited
Profile.membership                            inherited
Profile.nodeId                                inherited
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
RateLimit.cost                                inherited
RateLimit.largestConnection                   inherited
RateLimit.limit                               inherited
RateLimit.nodeCount                           inherited
RateLimit.nodeLimit                           inherited
RateLimit.rejection                           inherited
RateLimit.remaining                           inherited
RateLimit.requestLimit                        inherited
RateLimit.requestsRemaining                   inherited
RateLimit.requestsResetAt                     inherited
RateLimit.resetAt                             inherited
RemoveGroupMemberPayload.clientMutationId     inherited
RemoveGroupMemberPayload.group                inherited
RemoveGroupMemberPayload.preview              inherited
RemoveGroupMemberPayload.userErrors           inherited
SearchResultConnection.edges                  inherited
SearchResultConnection.nodes                  inherited
SearchResultConnection.pageInfo               inherited
SearchResultConnection.totalCount             inherited
SearchResultEdge.cursor                       inherited
SearchResultEdge.node                         inherited
ServiceAccount.createdAt                      inherited
ServiceAccount.description                    inherited
ServiceAccount.expiresAt                      inherited
ServiceAccount.id                             inherited
ServiceAccount.lastUsedAt                     inherited
ServiceAccount.name                           inherited
ServiceAccount.scopes                         inherited
UpdateGroupMemberPayload.clientMutationId     inherited
UpdateGroupMemberPayload.membership           inherited
UpdateGroupMemberPayload.preview              inherited
UpdateGroupMemberPayload.userErrors           inherited
UpdateGroupPayload.clientMutationId           inherited
UpdateGroupPayload.group                      inherited
UpdateGroupPayload.preview                    inherited
UpdateGroupPayload.userErrors                 inherited
UpdateProfilePayload.clientMutationId         inherited
UpdateProfilePayload.preview                  inherited
UpdateProfilePayload.profile                  inherited
UpdateProfilePayload.userErrors               inherited
UpdateUserPayload.clientMutationId            inherited
UpdateUserPayload.preview                     inherited
UpdateUserPayload.user                        inherited
UpdateUserPayload.userErrors                  inherited
User.groups                                   inherited
User.membership                               inherited
User.nodeId                                   inherited
UserConnection.edges                          inherited
UserConnection.nodes                          inherited
UserConnection.pageInfo                       inherited
UserConnection.totalCount                     inherited
UserEdge.cursor                               inherited
UserEdge.node                                 inherited
UserError.code                                inherited
UserError.message                             inherited
UserError.path                                inherited
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
