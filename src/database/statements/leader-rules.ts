/** Key of the advisory lock of the process that follows the directory: the bytes of «sync». */
export const LEADER_LOCK = 0x73796e63;
/** First key of the advisory locks that show the rules of visibility of the leader, before their number: the bytes of «rule». */
export const RULES_LOCK = 0x72756c65;

const HOLDERS = `
  select pid from pg_locks
  where locktype = 'advisory' and classid = 0 and objid = ${LEADER_LOCK} and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())`;

/** SQL condition: whether a process leads that has other rules of visibility than those with a number. */
export const leaderHasOtherRules = (number: string) => `exists (
  select from pg_locks
  where locktype = 'advisory' and classid = ${RULES_LOCK} and objid <> ${number}::oid and objsubid = 2 and granted
    and database = (select oid from pg_database where datname = current_database()) and pid in (${HOLDERS}))`;
