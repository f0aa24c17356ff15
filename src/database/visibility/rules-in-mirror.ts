import { markOfRules } from '../../config/model/mapping.js';

/** Key of the advisory lock of the process that follows the directory: the bytes of «sync». */
export const LEADER_LOCK = 0x73796e63;
/** First key of the advisory locks that show the rules of visibility of the leader, before their number: the bytes of «rule». */
export const RULES_LOCK = 0x72756c65;

/** A function, because PostgreSQL prepares a subquery at each execution, and calls a function only when it needs it. */
export const CREATE_IS_LED_WITH_OTHER_RULES = `
  create function is_led_with_other_rules(rules integer) returns boolean language sql stable as $$
    select exists (
      select from pg_locks leader join pg_locks shown on shown.pid = leader.pid and shown.database = leader.database
      where leader.database = (select oid from pg_database where datname = current_database())
        and leader.locktype = 'advisory' and leader.classid = 0 and leader.objid = ${LEADER_LOCK} and leader.objsubid = 1
        and shown.locktype = 'advisory' and shown.classid = ${RULES_LOCK} and shown.objid <> rules::oid and shown.objsubid = 2
        and leader.granted and shown.granted)
  $$`;

/**
 * SQL for a revision of `mirror_state`. Rules are evaluated when an entry is read, so a mirror that was written with other rules, such as
 * one that was restored, counts as not read. While a process with other rules leads, this one shows what that one does.
 * @param rules their number; 0: there are none
 */
export function ifWrittenWith(rules: number, revision: string): string {
  if (rules === 0) return revision;
  const mark = markOfRules(rules);
  const isWritten = `right(source_fingerprint, ${mark.length}) = '${mark}'`;
  return `case when ${isWritten} or is_led_with_other_rules(${rules}) then ${revision} end`;
}
